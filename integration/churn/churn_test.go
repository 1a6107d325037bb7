package churn

import (
	"runtime"
	"testing"
	"time"
)

const (
	// changes is how many changes there are, perSecond how many in a second, warming how many there are before all that.
	changes   = 10_000
	perSecond = 500
	warming   = 500
	// members is how many endpoints there are while nothing changes.
	members = 100
	// slackGoroutines and slackMemory are what may be left over: less than a goroutine for every thousandth change, and
	// less than what one pool would keep if it forgot nothing. The runtime itself keeps a record of as many goroutines as
	// there ever were at a time, which is most of what is measured.
	slackGoroutines = 5
	slackMemory     = 2 << 20
)

// figures are what Sluice, the endpoints and this test take together while nothing happens.
type figures struct {
	goroutines  int
	memory      uint64
	connections int64
}

// rest takes the figures after requests to a new set of endpoints have ended.
func rest(t testing.TB, s *stack, h *herd) figures {
	t.Helper()
	h.replace(members)
	visit(t, s, members)
	for len(h.out) > 0 {
		h.bury(h.out[0].idle(t))
	}
	until(t, "one connection to each endpoint", func() bool {
		return h.open.Load() == members
	}, func() any { return h.open.Load() })
	// The last of those that check or close something end meanwhile.
	last := figures{goroutines: runtime.NumGoroutine(), connections: h.open.Load()}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for range 100 {
		<-ticker.C
		last.goroutines = min(last.goroutines, runtime.NumGoroutine())
	}
	var memory runtime.MemStats
	for range 3 { // What is kept for reuse goes with the second collection.
		runtime.GC()
		runtime.ReadMemStats(&memory)
	}
	last.memory = memory.HeapAlloc
	return last
}

// idle waits until a removed endpoint has no connection, and returns a time at which its grace is over.
func (p *pod) idle(t testing.TB) time.Time {
	t.Helper()
	until(t, "the end of the connections to an endpoint that has left", func() bool {
		return p.open.Load() == 0
	}, func() any { return p.open.Load() })
	return time.Unix(0, p.removed.Load()).Add(2 * grace)
}

// storm makes so many changes, at perSecond, while requests pass.
func storm(t testing.TB, s *stack, h *herd, count int) *traffic {
	t.Helper()
	load, stop := press(t, s)
	defer stop()
	began := time.Now()
	ticker := time.NewTicker(time.Second / perSecond)
	defer ticker.Stop()
	for made := 0; made < count && !t.Failed(); {
		now := <-ticker.C
		for ; made < count && made < int(now.Sub(began)*perSecond/time.Second); made++ {
			h.change()
		}
		h.bury(now)
	}
	load.took = time.Since(began)
	return load
}

// TestTenThousandChanges changes the endpoints of eight pools at once ten thousand times, at 500 changes a second,
// while requests pass. No request fails or needs a second try, endpoints that leave get neither requests nor checks
// soon, nothing is compiled again, and what is left is what there was before.
func TestTenThousandChanges(t *testing.T) {
	s := newStack(t)
	h := newHerd(t, s)
	h.replace(members)
	visit(t, s, members)
	storm(t, s, h, warming) // Maps and pools of memory take their size.
	before := rest(t, s, h)
	generation := s.pipeline.State().Generation
	s.records.reset() // No endpoint served at first.
	clear(h.changes)
	h.checks.Store(0)

	load := storm(t, s, h, changes)
	largest, checks := runtime.NumGoroutine(), h.checks.Load()
	after := rest(t, s, h)
	h.none(s)

	t.Logf("%d changes in %v (%.0f/s): %v", changes, load.took.Round(time.Millisecond), changes/load.took.Seconds(),
		h.changes)
	t.Logf("%d requests, %d failed, %d were tried again; %d checks", load.sent.Load(), s.records.failed.Load(),
		s.records.retried.Load(), checks)
	t.Logf("late: %d requests, %d checks", h.late.Load(), h.lateChecks.Load())
	t.Logf("goroutines: %d before, %d at the end of the changes, %d after", before.goroutines, largest, after.goroutines)
	t.Logf("heap: %.1f MiB before, %.1f MiB after", mib(before.memory), mib(after.memory))
	t.Logf("connections to endpoints: %d before, %d after", before.connections, after.connections)
	if text := s.records.reason.Load(); text != nil {
		t.Errorf("%d requests failed, the first for %s", s.records.failed.Load(), *text)
	}
	for what, count := range map[string]int64{
		"requests were tried again": s.records.retried.Load(), "endpoints were taken out": s.events.Load(),
		"requests came late": h.late.Load(), "checks came late": h.lateChecks.Load(),
	} {
		if count > 0 {
			t.Errorf("%d %s", count, what)
		}
	}
	if after.goroutines > before.goroutines+slackGoroutines {
		t.Errorf("goroutines: %d before, %d after", before.goroutines, after.goroutines)
	}
	if after.memory > before.memory+slackMemory {
		t.Errorf("heap: %.1f MiB before, %.1f MiB after", mib(before.memory), mib(after.memory))
	}
	if now := s.pipeline.State().Generation; now != generation {
		t.Errorf("table %d serves after %d: endpoints are no reason to compile", now, generation)
	}
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// none takes the last endpoints away: no connection is left, no check comes, and no state is kept of any endpoint.
func (h *herd) none(s *stack) {
	h.t.Helper()
	h.replace(0)
	until(h.t, "no connections", func() bool { return h.open.Load() == 0 }, func() any { return h.open.Load() })
	for len(h.out) > 0 {
		h.bury(h.out[0].idle(h.t))
	}
	asked := h.checks.Load()
	quiet := time.NewTimer(2 * checkInterval)
	defer quiet.Stop()
	<-quiet.C
	s.stop()
	if now := h.checks.Load(); now != asked {
		h.t.Errorf("%d checks of endpoints that are gone", now-asked)
	}
	for endpoint := range s.registry.Endpoints() {
		h.t.Errorf("endpoint %v is still known", endpoint.Key())
	}
}
