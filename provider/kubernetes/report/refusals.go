package report

import (
	"context"
	"errors"
	"net/url"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluiceproxy/sluice/telemetry"
)

// request is a kind of request: a verb on a resource with its group, as RBAC rules name them.
type request struct{ verb, resource string }

// outcome is how requests of one kind end.
type outcome uint8

const (
	done outcome = iota
	refused
	failed
)

// refusals says once what Sluice may not write or fails to write, and once that it works again.
type refusals struct {
	logger telemetry.Logger

	mu sync.Mutex
	// told holds the namespaces in which requests of one kind do not end well. What is refused in one and works in the next
	// is said once, and not with every turn.
	told map[request]map[string]outcome
}

// note looks at how a request in a namespace ended.
func (r *refusals) note(verb, resource, namespace string, err error) {
	now := done
	switch {
	case err == nil || apierrors.IsNotFound(err): // Who may not write is not told what is there.
	case ordinary(err):
		return
	case apierrors.IsForbidden(err):
		now = refused
	default:
		now = failed
	}
	news := r.put(request{verb, resource}, namespace, now)
	switch {
	case !news:
	case now == refused:
		r.logger.Warn("Kubernetes refuses what Sluice wants to write; everything else works, and this will as soon as it is granted",
			"reason", "may not "+verb+" "+resource, "namespace", namespace)
	case now == failed:
		r.logger.Warn("writing to Kubernetes fails", "verb", verb, "resource", resource, "namespace", namespace, "error", err)
	default:
		r.logger.Info("writing to Kubernetes works again", "verb", verb, "resource", resource)
	}
}

// put keeps how a request ended, and reports whether that is news: no namespace has this trouble yet, or the last one
// has lost what it had.
func (r *refusals) put(one request, namespace string, now outcome) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	troubles := r.told[one]
	if now == done {
		_, had := troubles[namespace]
		delete(troubles, namespace)
		return had && len(troubles) == 0
	}
	if troubles == nil {
		troubles = map[string]outcome{}
		r.told[one] = troubles
	}
	news := true
	for _, trouble := range troubles {
		news = news && trouble != now
	}
	troubles[namespace] = now
	return news
}

// ordinary reports whether an error is part of life: somebody was faster, something is gone, or the API server does not
// answer, which the watches tell.
func ordinary(err error) bool {
	_, silent := errors.AsType[*url.Error](err)
	return silent || ending(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// ending reports whether a request was refused because its namespace is being deleted.
func ending(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }

// hopeless reports whether it makes no sense to try again: what was to be written to is gone, or the API server will not
// have it.
func hopeless(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || ending(err)
}
