// Package retry implements the middleware retry, which configures how failed attempts of a request are repeated.
//
// It adds a retry policy to the request's context, which the service uses in place of its own. It sends no request and
// reads no body itself: the service has the state of the attempts.
package retry

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// Retry is one configured retry.
type Retry struct{ policy *retry.Policy }

// New checks the definition. attempts counts the first try and must be at least 1; durations must not be negative,
// status codes must be ones (100 to 599), and disableRetryOnNetworkError needs some.
func New(_ string, config dynamic.Retry) (*Retry, error) {
	policy, err := retry.NewMiddleware(&config)
	if err != nil {
		return nil, err
	}
	return &Retry{policy: policy}, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*Retry) NoRetain() {}

// Wrap returns a handler that calls next with the policy in the context of the request.
func (m *Retry) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(retry.WithPolicy(r.Context(), m.policy)))
	})
}
