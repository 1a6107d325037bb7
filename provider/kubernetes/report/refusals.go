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

	mu   sync.Mutex
	told map[request]outcome
}

// note looks at how a request ended, and reports whether it was refused for want of a right.
func (r *refusals) note(verb, resource string, err error) bool {
	now := done
	switch {
	case err == nil:
	case ordinary(err):
		return false
	case apierrors.IsForbidden(err):
		now = refused
	default:
		now = failed
	}
	one := request{verb, resource}
	r.mu.Lock()
	before := r.told[one]
	r.told[one] = now
	r.mu.Unlock()
	switch {
	case now == before:
	case now == refused:
		r.logger.Warn("Kubernetes refuses what Sluice wants to write; everything else works, and this will as soon as it is granted",
			"reason", "may not "+verb+" "+resource)
	case now == failed:
		r.logger.Warn("writing to Kubernetes fails", "verb", verb, "resource", resource, "error", err)
	default:
		r.logger.Info("writing to Kubernetes works again", "verb", verb, "resource", resource)
	}
	return now == refused
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
