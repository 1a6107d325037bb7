package loadbalancer

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// history lets pools change at random while requests begin and end.
type history struct {
	*rig
	random  *rand.Rand
	dialers []*clinic
	under   []held
	specs   map[string]PoolSpec
	version uint64
}

func (h *history) policies() Policies {
	random := h.random
	var p Policies
	p.Strategy, _ = picker.NewStrategy([]string{
		dynamic.StrategyWRR, dynamic.StrategyP2C, dynamic.StrategyHash, dynamic.StrategyPeakEWMA,
	}[random.IntN(4)], nil)
	if random.IntN(2) == 0 {
		p.Checked, p.Check = true, check(h.t, []string{"/one", "/two", "three"}[random.IntN(3)])
	}
	if random.IntN(3) > 0 {
		p.Outlier = detection(h.t)
	}
	if random.IntN(2) == 0 {
		p.Sticks, p.Cookie = true, cookie(h.t)
	}
	if random.IntN(2) == 0 {
		p.Limits = Limits{PerEndpoint: random.IntN(4), PerPool: random.IntN(8)}
	}
	p.Panic, p.Zone = 50*random.IntN(2), ZonePolicy(random.IntN(3)) //nolint:gosec // three policies
	p.SlowStart, p.DrainTime = time.Duration(random.IntN(2))*time.Second, time.Duration(random.IntN(2))*time.Second
	return p
}

func (h *history) change() {
	random := h.random
	name := fmt.Sprint("pool", random.IntN(3))
	switch random.IntN(8) {
	case 0:
		h.Release(name)
		delete(h.specs, name)
	case 1, 2:
		spec := randomSpec(random, name, []*line{nil, nil})
		spec.Dialer, spec.Policies = h.dialers[random.IntN(2)], h.policies()
		h.specs[name] = spec
		h.pool(spec)
	case 3:
		h.SetZone([]string{"", "a", "b"}[random.IntN(3)])
	case 4:
		h.dialers[random.IntN(2)].sick(fmt.Sprintf("192.0.2.%d:80", random.IntN(4)), random.IntN(2) == 0)
	default:
		h.version++
		endpoints := randomEndpoints(random)
		for i := range endpoints {
			endpoints[i].Zone = []string{"", "a", "b"}[random.IntN(3)]
		}
		h.Apply(dynamic.EndpointSet{Key: fmt.Sprint("source/", random.IntN(3)), Version: h.version, Endpoints: endpoints})
	}
}

// ask begins a request to some pool, and lets some others end, most of those to one address badly.
func (h *history) ask() {
	for pool := range h.Pools() {
		request := &Request{}
		request.Now = h.instant()
		request.HTTP = httptest.NewRequestWithContext(h.t.Context(), http.MethodGet, "/", nil)
		member, err := pool.Acquire(request)
		if err == nil {
			h.under = append(h.under, held{member, request})
		}
		if refused := err != nil; refused && pool.Snapshot().Serving() > 0 && !pool.Snapshot().policies.Limits.set() {
			h.t.Fatalf("%s refuses a request: %v", pool.Name(), err)
		}
	}
	h.random.Shuffle(len(h.under), func(i, j int) { h.under[i], h.under[j] = h.under[j], h.under[i] })
	for len(h.under) > h.random.IntN(12) {
		h.end()
	}
}

func (h *history) end() {
	last := h.under[len(h.under)-1]
	h.under = h.under[:len(h.under)-1]
	result := Result{Began: last.request.Now, Now: h.instant(), Counted: last.request.Counted}
	if last.member.Endpoint().Key().Address.Addr().As4()[3]%2 == 1 {
		result.Outcome = Unreachable
	}
	last.member.Done(result)
}

// holds checks what is true at every moment.
func (h *history) holds(step int) {
	t := h.t
	wanted, refs, members := map[*Upstream]int32{}, map[*Upstream]int32{}, map[*Member]bool{}
	for pool := range h.Pools() {
		for _, server := range pool.servers {
			for _, member := range server.members {
				members[member] = true
				refs[member.upstream]++
				if member.upstream.dialer != pool.dialer || member.upstream.scheme != server.spec.Scheme {
					t.Fatalf("step %d: %s is reached in the way of an earlier specification", step, member.Address())
				}
				if !member.draining {
					wanted[member.upstream]++
				}
				if member.gone || member.ejected != member.outlier.Ejected() || member.ejected != contains(h.ejected, member) {
					t.Fatalf("step %d: %s is gone %v, ejected %v", step, member.Address(), member.gone, member.ejected)
				}
				if member.probe != nil && (!contains(member.probe.members, member) || member.probe.down != member.down) {
					t.Fatalf("step %d: the check of %s says down %v", step, member.Address(), member.probe.down)
				}
			}
		}
		if got := pool.counts; got.round == h.round {
			pool.counts.round--
			fresh := h.memberCounts(pool)
			equal(t, "total and out", []int{got.total, got.out}, []int{fresh.total, fresh.out})
		}
		for member := range pool.overLimit {
			if !members[member] || member.pool != pool {
				t.Fatalf("step %d: a member that is gone is overLimit", step)
			}
		}
	}
	for member := range h.ejected {
		if !members[member] {
			t.Fatalf("step %d: a member that is gone is ejected", step)
		}
	}
	for upstream := range h.upstreams() {
		if upstream.refs != refs[upstream] || upstream.wanted != wanted[upstream] ||
			upstream.draining.Load() != (upstream.wanted == 0) {
			t.Fatalf("step %d: %s has %d of %d members, %d of %d that keep connections, draining %v", step, upstream.url,
				upstream.refs, refs[upstream], upstream.wanted, wanted[upstream], upstream.draining.Load())
		}
	}
	for _, probe := range h.probes {
		if len(probe.members) == 0 || probe.runs.Stopped() {
			t.Fatalf("step %d: a check without users runs", step)
		}
	}
	counted := map[*Pool]int64{}
	for _, one := range h.under {
		if one.request.Counted {
			counted[one.member.pool]++
		}
	}
	for pool := range h.Pools() {
		equal(t, "requests under way", pool.state.InFlight.Load(), counted[pool])
	}
}

// upstreams yields all upstreams.
func (r *Registry) upstreams() iter.Seq[*Upstream] {
	return func(yield func(*Upstream) bool) {
		for endpoint := range r.Endpoints() {
			if endpoint.first != nil && !yield(endpoint.first) {
				return
			}
			for _, one := range endpoint.others {
				if !yield(one) {
					return
				}
			}
		}
	}
}

func contains[K comparable, V any](all map[K]V, key K) bool { _, found := all[key]; return found }

// TestRandomHistoryOfPolicies changes everything at random and looks at what must be true whatever happened.
func TestRandomHistoryOfPolicies(t *testing.T) {
	states := map[State]int{}
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			prober := health.NewProber(4)
			defer prober.Close()
			h := &history{
				rig: newRig(t, prober), random: rand.New(rand.NewPCG(seed, 2)), dialers: []*clinic{newClinic(), newClinic()},
				specs: map[string]PoolSpec{},
			}
			for step := range 300 {
				if h.random.IntN(3) == 0 {
					h.change()
				}
				for range 4 {
					h.ask()
				}
				pass(time.Duration(h.random.IntN(300)) * time.Millisecond)
				synctest.Wait()
				h.now = time.Now()
				if next := h.Flush(h.now); !next.IsZero() && !next.After(h.now) {
					t.Fatalf("step %d: the next flush is %v ago", step, h.now.Sub(next))
				}
				h.holds(step)
			}
			for _, event := range h.events {
				states[event.State]++
			}
			for len(h.under) > 0 {
				h.end()
			}
			for name := range h.specs {
				h.Release(name)
			}
			h.pass(time.Minute)
			if left := len(h.endpoints) + len(h.probes) + len(h.ejected) + len(h.warming) + len(h.leaving) +
				len(h.stale) + len(h.Registry.policies); left > 0 {
				t.Errorf("seed %d: %d things are left", seed, left)
			}
			if next := h.Flush(h.now); !next.IsZero() {
				t.Error("there is something to do without pools")
			}
		})
	}
	if states[Ejected] == 0 || states[Unhealthy] == 0 || states[Serving] == 0 {
		t.Errorf("too little happens: %v", states)
	}
}

// TestChangesUnderRequests is for the race detector: one goroutine writes, many read.
func TestChangesUnderRequests(t *testing.T) {
	h := &history{
		rig: newRig(t, nil), random: rand.New(rand.NewPCG(1, 3)), dialers: []*clinic{newClinic(), newClinic()},
		specs: map[string]PoolSpec{},
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			ask := &Request{}
			ask.HTTP = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				for pool := range h.Pools() {
					ask.Now, ask.Tried = time.Since(h.epoch), nil
					if member, err := pool.Acquire(ask); err == nil {
						result := Result{
							Began: ask.Now, Now: ask.Now, Latency: time.Duration(n%7) * time.Millisecond,
							Counted: ask.Counted,
						}
						if n%64 < 8 {
							result.Outcome = Unreachable
						}
						member.Done(result)
					}
				}
			}
		})
	}
	for range 150 {
		h.change()
		h.now = h.now.Add(50 * time.Millisecond)
		h.Flush(h.now)
	}
	close(stop)
	readers.Wait()
	for pool := range h.Pools() {
		equal(t, "in flight", pool.state.InFlight.Load(), int64(0))
	}
}
