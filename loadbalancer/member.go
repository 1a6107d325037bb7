package loadbalancer

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// Member is an endpoint's place in one pool. It stays the same value for as long as the endpoint serves the pool through
// the same server of its specification. Its weight belongs to the Snapshot.
type Member struct {
	pool     *Pool
	upstream *Upstream
	host     string
	path     string
	// name is the server's address as sticky cookies and hashes know it: its URL, or scheme://address.
	name string
	// declared is the URL of the configuration, which may stand for several members.
	declared string
	// url is scheme://host:port, as logs and metrics show it.
	url string
	// base is the escaped path of that URL.
	base string
	// since is when the member joined or recovered, and so began its slow start.
	since atomic.Int64
	// active counts the pool's requests to the endpoint, of those that began while its pool counted.
	active  atomic.Int64
	latency atomic.Pointer[picker.Latency]
	outlier outlier.State
	remarks remarks

	// What follows belongs to the single writer.
	standing
	probe *probe
	zone  string
	hints []string
	// gone says that the member has left its pool.
	gone bool
	// stickyID is the value of the cookie that names the member, and aliases are older and wider forms of it. Both are set
	// before the first snapshot that needs them, and stay.
	stickyID string
	aliases  []string
}

// standing is what keeps a member from getting requests.
type standing struct {
	// down says that the active check failed.
	down bool
	// ejected says that its answers failed, until when.
	ejected bool
	until   time.Duration
	// unreachable says that the last failure before that was to find no connection.
	unreachable bool
	// stays says that it has weight and is not terminating.
	stays bool
	// draining says that its connections are not kept.
	draining bool
}

// Endpoint returns who would answer.
func (m *Member) Endpoint() *Endpoint { return m.upstream.endpoint }

// Upstream returns how the endpoint is spoken to.
func (m *Member) Upstream() *Upstream { return m.upstream }

// Address returns the endpoint's address as text: host:port, IPv6 in brackets.
func (m *Member) Address() string { return m.upstream.address }

// Host returns the authority of the server's URL, or the endpoint's address where there is none: what the Host header
// says when the client's is not passed on.
func (m *Member) Host() string { return m.host }

// URL returns scheme://host:port: the authority as the configuration gives it, or the address of an endpoint that a set brought.
func (m *Member) URL() string { return m.url }

// Path returns the escaped path to put before the request's, empty for none.
func (m *Member) Path() string { return m.path }

// Result is how a request to an endpoint ended.
type Result struct {
	Outcome Outcome
	// Status is the status code of the response, 0 without one.
	Status int
	// Latency is the time to the head of the response; 0 where it was not measured.
	Latency time.Duration
	// Began is the instant at which the try began, and Now that at which it ended, or at which the head of the response was
	// there where Latency is set; as Pool.Instant gives them. A result that is good needs no exact Now.
	Began time.Duration
	Now   time.Duration
	// Counted is what Request.Counted said after Acquire.
	Counted bool
}

// Done counts a request out that Pool.Acquire counted in, and says how it ended.
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
	policy := &snapshot.outlier
	if !policy.Enabled() {
		return
	}
	seen := outlier.Result{
		Unreachable: result.Outcome == Unreachable,
		Broken:      result.Outcome == Broken || result.Outcome == TimedOut,
		Status:      result.Status,
		Began:       result.Began,
	}
	if m.outlier.Observe(policy, seen, result.Now) {
		m.pool.events.suspect(m, result)
	}
}

// text returns the result in words, for the log.
func (r Result) text() string {
	if r.Outcome == Answered {
		return "status " + strconv.Itoa(r.Status)
	}
	return r.Outcome.String()
}
