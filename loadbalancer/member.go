package loadbalancer

import (
	"cmp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// Member is an endpoint in one pool. It stays the same value as long as the endpoint serves the pool through
// the same server of its specification. Its weight belongs to the Snapshot.
type Member struct {
	pool     *Pool
	upstream *Upstream
	// spec is the specification that its server had when the member joined; the weight may be another one now.
	spec *ServerSpec
	// name is the server's identity for sticky cookies and hashes: its URL, or scheme://address.
	name string
	// url is scheme://host:port, as logs and metrics show it.
	url string
	// since is the instant at which the member joined or recovered, the start of its slow start.
	since atomic.Int64
	// active counts the pool's requests in flight to the endpoint, as long as the pool has limits.
	active        atomic.Int64
	latency       atomic.Pointer[picker.Latency]
	traffic       memberTraffic
	outlier       outlier.State
	statusReasons statusReasons

	// The fields below belong to the single writer.
	memberState
	probe *probe
	// declared is the endpoint in the last set.
	declared *dynamic.Endpoint
	// sticky is set before the first snapshot that needs it, and does not change.
	sticky *stickyValues
}

// memberState is the part of a member's state that keeps it from getting requests.
type memberState struct {
	// ejected is set until the instant until, because real requests failed.
	until   time.Duration
	ejected bool
	// down is set when the active check failed.
	down bool
	// unreachable is set when the last failure before that was a failed connect.
	unreachable bool
	// weighs is set when its server has weight and it is not drained by hand.
	weighs, terminating bool
	// draining is set when its connections are closed after their current request.
	draining bool
	// gone is set when the member has left its pool.
	gone bool
}

// stays reports whether the member has weight and is not terminating.
func (s *memberState) stays() bool { return s.weighs && !s.terminating }

func (s *memberState) healthy() bool { return !s.down && !s.ejected }

func (s *memberState) state() State {
	switch {
	case s.down:
		return Unhealthy
	case s.ejected:
		return Ejected
	case !s.stays():
		return Draining
	}
	return Serving
}

// Endpoint returns the endpoint.
func (m *Member) Endpoint() *Endpoint { return m.upstream.endpoint }

// Upstream returns the upstream through which the endpoint is reached.
func (m *Member) Upstream() *Upstream { return m.upstream }

// Address returns the endpoint's address as text: host:port, IPv6 in brackets.
func (m *Member) Address() string { return m.upstream.Address() }

// Host returns the authority of the server's URL, or the endpoint's address where there is none: the Host
// header when the client's is not passed on (passHostHeader).
func (m *Member) Host() string { return cmp.Or(m.spec.Host, m.Address()) }

// URL returns scheme://host:port: the authority as the configuration gives it, or the address of an endpoint
// that a set brought.
func (m *Member) URL() string { return m.url }

// Path returns the escaped path prefix for requests, empty for none.
func (m *Member) Path() string { return m.spec.Path }

// Result is the result of a request to an endpoint.
type Result struct {
	Outcome Outcome
	// Status is the status code of the response, 0 without one.
	Status int
	// Latency is the time to the response head; 0 when it was not measured.
	Latency time.Duration
	// Began is the instant at which the attempt began, and Now the one at which it ended, or at which the
	// response head arrived when Latency is set; as returned by Pool.Instant. A successful result needs no
	// exact Now.
	Began time.Duration
	Now   time.Duration
	// Counted is Request.Counted after Acquire.
	Counted bool
}

// Connected reports that a connection to the endpoint was made, for requests that last as long as their connection: the
// success counts now, and not when it ends. Done follows, with Abandoned. Began is as in Result.
func (m *Member) Connected(began, now time.Duration) {
	m.upstream.endpoint.answered()
	if policy := &m.pool.snapshot.Load().policies.Outlier; policy.Enabled() {
		m.outlier.Observe(policy, outlier.Result{Answered: true, Began: began}, now)
	}
}

// Done counts a request out that Pool.Acquire counted in, and reports its result.
func (m *Member) Done(result Result) {
	snapshot := m.pool.snapshot.Load()
	m.upstream.done(result.Outcome)
	if result.Counted {
		m.pool.leave(m)
	}
	if result.Outcome == Abandoned {
		return
	}
	if result.Latency > 0 {
		if latency := m.latency.Load(); latency != nil {
			failed := result.Outcome != Answered || result.Status >= 500
			latency.Observe(result.Latency, failed, result.Now)
		}
	}
	policy := &snapshot.policies.Outlier
	if !policy.Enabled() {
		return
	}
	seen := outlier.Result{
		Unreachable: result.Outcome == Unreachable,
		Broken:      result.Outcome == Broken || result.Outcome == TimedOut,
		Answered:    result.Outcome == Answered && m.upstream.trips == nil,
		Status:      result.Status,
		Began:       result.Began,
	}
	if m.outlier.Observe(policy, seen, result.Now) {
		m.pool.events.addEjectionCandidate(m, result)
	}
}

// text returns the result in words, for the log.
func (r Result) text() string {
	if r.Outcome == Answered {
		return "status " + strconv.Itoa(r.Status)
	}
	return r.Outcome.String()
}
