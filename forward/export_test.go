package forward

import (
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// DialTimeout returns how long a dial may take.
func (t *Transport) DialTimeout() time.Duration { return time.Duration(t.timeouts.DialTimeout) }

// ServerName returns the name that certificates of the endpoint must have.
func ServerName(upstream http.RoundTripper) string {
	return upstream.(*connections).multiplexed.tls.ServerName
}

// AgreeHTTP2 has the endpoint have chosen HTTP/2 in the last ALPN.
func AgreeHTTP2(upstream http.RoundTripper) { upstream.(*connections).multiplexed.agreed.Store(true) }

// AgreedHTTP2 reports whether the endpoint chose HTTP/2 in the last ALPN.
func AgreedHTTP2(upstream http.RoundTripper) bool {
	return upstream.(*connections).multiplexed.agreed.Load()
}

// Try makes one attempt at an endpoint of a pool, and returns when it began and its result.
func Try(s *Service, pool *loadbalancer.Pool, w http.ResponseWriter, r *http.Request) (
	began time.Duration, result loadbalancer.Result, err error,
) {
	a := s.newAttempt(w, r, new(telemetry.Record), nil)
	a.state.pick.Now = pool.Instant(time.Now())
	if a.target.Member, err = pool.Acquire(&a.state.pick); err == nil {
		err = s.try(a)
	}
	return a.state.pick.Now, a.state.result, err
}
