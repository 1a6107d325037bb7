package loadbalancer

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
)

// pool returns the pool of the specification's name, configured.
func (r *Registry) pool(spec PoolSpec) *Pool {
	pool, known := r.Lookup(spec.Name)
	if !known {
		pool = r.NewPool(spec.Name)
	}
	r.Configure(pool, spec)
	return pool
}

// rig is a registry whose clock the test sets.
type rig struct {
	*Registry
	t      *testing.T
	now    time.Time
	events []Event
}

func newRig(t *testing.T, prober *health.Prober) *rig {
	b := &rig{t: t}
	b.Registry = NewRegistry(Options{Prober: prober, Report: func(e Event) { b.events = append(b.events, e) }})
	b.now = b.epoch.Add(time.Hour)
	return b
}

// pass lets time pass and publishes what is due.
func (b *rig) pass(d time.Duration) {
	b.now = b.now.Add(d)
	b.Flush(b.now)
}

func (b *rig) instant() time.Duration { return b.now.Sub(b.epoch) }

// shop makes a pool of servers 192.0.2.1 to n with the policies.
func (b *rig) shop(n int, policies Policies) *Pool {
	return b.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers(n), Policies: policies})
}

func servers(n int) []ServerSpec {
	all := make([]ServerSpec, 0, n)
	for i := range n {
		all = append(all, inline("192.0.2."+string(rune('1'+i))+":80", 1))
	}
	return all
}

// ends lets a request to a server end with the result.
func (b *rig) ends(pool *Pool, address string, result Result) {
	b.t.Helper()
	member := members(pool)[address]
	if member == nil {
		b.t.Fatalf("the pool has no %s", address)
	}
	member.upstream.begin()
	result.Began, result.Now = b.instant(), b.instant()
	member.Done(result)
}

// fails lets n requests to a server fail, and publishes what follows.
func (b *rig) fails(pool *Pool, address string, n int) {
	b.t.Helper()
	for range n {
		b.ends(pool, address, Result{Outcome: Broken})
	}
	b.pass(FlushInterval)
}

// who counts the endpoints that answer n requests.
func (b *rig) who(pool *Pool, n int) []string {
	b.t.Helper()
	return slices.Sorted(maps.Keys(picks(pool, n)))
}

// asks acquires for a request with the cookie, and counts it out.
func (b *rig) asks(pool *Pool, cookie string) (address, setCookie string) {
	b.t.Helper()
	request := &Request{}
	request.HTTP = httptest.NewRequestWithContext(b.t.Context(), http.MethodGet, "/", nil)
	if cookie != "" {
		request.HTTP.Header.Set("Cookie", cookie)
	}
	member, err := pool.Acquire(request)
	if err != nil {
		return err.Error(), ""
	}
	member.Done(Result{Counted: request.Counted})
	return member.Address(), request.Cookie
}

func detection(t *testing.T) outlier.Policy {
	t.Helper()
	policy, err := outlier.NewPolicy(nil, &dynamic.OutlierDetection{
		ConsecutiveFailures: new(3), BaseEjectionTime: 2e9, MaxEjectionTime: 60e9, MaxEjectedPercent: new(50),
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func refusal(t *testing.T, err error) *Refusal {
	t.Helper()
	refused, ok := errors.AsType[*Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return refused
}

func stickyRequest(t *testing.T, cookie string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Cookie", cookie)
	return r
}

// held is a request under way.
type held struct {
	member  *Member
	request *Request
}

func (h held) done() { h.member.Done(Result{Counted: h.request.Counted}) }

// hold begins a request.
func (b *rig) hold(pool *Pool) held {
	b.t.Helper()
	request := plain(b.t.Context())
	member, err := pool.Acquire(request)
	if err != nil {
		b.t.Fatal(err)
	}
	return held{member, request}
}
