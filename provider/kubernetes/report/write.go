package report

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// requestTimeout is the time limit of one request.
	requestTimeout = 5 * time.Second
	// gather is how long changes are collected before they are written, so that several of one object make one request.
	gather = 100 * time.Millisecond
	// pauseAfterFailure is the pause after a request that failed, pauseAfterRefusal that after one without permission.
	pauseAfterFailure = 5 * time.Second
	pauseAfterRefusal = 30 * time.Second
)

// tokenDelay returns how long it is until a limiter has a token; 0 means that it has one, which Allow then takes.
func tokenDelay(limiter *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - limiter.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(1, time.Duration(missing/float64(limiter.Limit())*float64(time.Second)))
}

// earlier returns the shorter of two delays; 0 is none.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// alarm is a timer whose time only becomes earlier until it fires.
type alarm struct {
	*time.Timer
	at time.Time
}

// newAlarm returns an alarm that is not set.
func newAlarm() *alarm {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &alarm{Timer: timer}
}

// within sets the alarm, unless it fires earlier anyway.
func (a *alarm) within(delay time.Duration) {
	if at := time.Now().Add(delay); a.at.IsZero() || at.Before(a.at) {
		a.at = at
		a.Reset(delay)
	}
}

// fired must be called after a receive from the timer's channel.
func (a *alarm) fired() { a.at = time.Time{} }

// request is a kind of request: a verb on a resource with its group, as RBAC rules name them.
type request struct{ verb, resource string }

// outcome is how requests of one kind end.
type outcome uint8

const (
	done outcome = iota
	refused
	failed
)

// permissionErrors logs requests that are refused or fail: one line for each kind of request, and one when it works
// again.
type permissionErrors struct {
	logger telemetry.Logger

	mu sync.Mutex
	// logged holds, for each kind of request, the namespaces in which it does not succeed. A request that is refused in
	// one namespace and succeeds in the next is therefore logged once.
	logged map[request]map[string]outcome
}

func newPermissionErrors(logger telemetry.Logger) *permissionErrors {
	return &permissionErrors{logger: logger, logged: map[request]map[string]outcome{}}
}

// note takes the result of a request in a namespace.
func (p *permissionErrors) note(verb, resource, namespace string, err error) {
	now := done
	switch {
	case err == nil || apierrors.IsNotFound(err): // A request without permission is answered 403, not 404.
	case expected(err):
		return
	case apierrors.IsForbidden(err):
		now = refused
	default:
		now = failed
	}
	changed := p.put(request{verb, resource}, namespace, now)
	switch {
	case !changed:
	case now == refused:
		p.logger.Warn("the API server refuses a write because a permission is missing; it is retried,"+
			" and nothing else is affected",
			"reason", "may not "+verb+" "+resource, "namespace", namespace)
	case now == failed:
		p.logger.Warn("writing to Kubernetes fails", "verb", verb, "resource", resource, "namespace", namespace, "error", err)
	default:
		p.logger.Info("writing to Kubernetes works again", "verb", verb, "resource", resource)
	}
}

// put keeps the outcome of a request. It reports whether that is to be logged: the first namespace with this outcome,
// or the last one that has recovered.
func (p *permissionErrors) put(one request, namespace string, now outcome) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.logged[one]
	if now == done {
		_, had := known[namespace]
		delete(known, namespace)
		return had && len(known) == 0
	}
	if known == nil {
		known = map[string]outcome{}
		p.logged[one] = known
	}
	changed := true
	for _, before := range known {
		changed = changed && before != now
	}
	known[namespace] = now
	return changed
}

// expected reports whether an error is no fault of the permissions: another writer was faster, the object is gone, or
// the API server does not answer, which the watches log.
func expected(err error) bool {
	_, unanswered := errors.AsType[*url.Error](err)
	return unanswered || terminating(err) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) ||
		apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// terminating reports whether a request was refused because its namespace is being deleted.
func terminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// permanent reports whether a retry cannot succeed: the object is gone, or the API server does not accept the content.
func permanent(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || terminating(err)
}
