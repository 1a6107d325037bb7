package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

// patience is how long the API server may give no answer before that is worth a line in the log.
const patience = time.Second

// reach observes every request and logs once that the API server is unreachable, and once that it is back. All watches
// share it.
type reach struct {
	next   http.RoundTripper
	server string
	logger telemetry.Logger

	mu     sync.Mutex
	since  time.Time // of the first failure without an answer since
	warned bool
}

// RoundTrip passes the request on and notes whether there was an answer.
func (r *reach) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	switch {
	case err == nil:
		r.answered()
	case !errors.Is(request.Context().Err(), context.Canceled): // Being stopped is no outage; a time limit is.
		r.failed(err)
	}
	return response, err
}

// WrappedRoundTripper returns what it wraps, so that idle connections can be found and closed.
func (r *reach) WrappedRoundTripper() http.RoundTripper { return r.next }

func (r *reach) answered() {
	r.mu.Lock()
	away, warned := time.Since(r.since), r.warned
	r.since, r.warned = time.Time{}, false
	r.mu.Unlock()
	if warned {
		r.logger.Info("the Kubernetes API server answers again", "server", r.server, "after", away.Round(time.Millisecond))
	}
}

func (r *reach) failed(err error) {
	now := time.Now()
	r.mu.Lock()
	if r.since.IsZero() {
		r.since = now
	}
	warn := !r.warned && now.Sub(r.since) >= patience
	r.warned = r.warned || warn
	r.mu.Unlock()
	if warn {
		r.logger.Warn("the Kubernetes API server does not answer; what is known of the cluster stays in use",
			"server", r.server, "error", err)
	}
}
