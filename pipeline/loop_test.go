package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/telemetry"
)

const ms = time.Millisecond

// needing makes a configuration of one router that needs an endpoint set.
func needing(key string) *dynamic.Configuration {
	return &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{"r": {Rule: "Host(`a`)", Service: "set:" + key}}),
	}}
}

func TestLoopDebounce(t *testing.T) {
	tests := []struct {
		name    string
		ceiling time.Duration
		changes []time.Duration // after the first configuration
		want    []time.Duration // when they are compiled
	}{
		{"a change in a quiet system is applied at once", 0, []time.Duration{time.Second}, []time.Duration{0, time.Second}},
		{
			"a burst is held until it has been quiet for 100 ms", 0,
			[]time.Duration{1000 * ms, 1050 * ms, 1100 * ms},
			[]time.Duration{0, 1000 * ms, 1200 * ms},
		},
		{
			"a burst is held for 500 ms at most", 0,
			[]time.Duration{1000 * ms, 1080 * ms, 1160 * ms, 1240 * ms, 1320 * ms, 1400 * ms, 1480 * ms, 1560 * ms, 1640 * ms},
			[]time.Duration{0, 1000 * ms, 1580 * ms, 1740 * ms},
		},
		{
			"a longer ceiling", 2 * time.Second,
			[]time.Duration{1000 * ms, 1080 * ms, 1160 * ms, 1240 * ms, 1320 * ms, 1400 * ms, 1480 * ms, 1560 * ms, 1640 * ms},
			[]time.Duration{0, 1000 * ms, 1740 * ms},
		},
		{
			"a ceiling below the quiet time", 20 * ms,
			[]time.Duration{1000 * ms, 1010 * ms, 1025 * ms},
			[]time.Duration{0, 1000 * ms, 1030 * ms},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigWith(t, func(o *pipeline.Options) { o.MaxHold = test.ceiling }, "file")
				r.run(t)
				r.send("file", routers("a", "0"))
				for i, at := range test.changes {
					pass(at - time.Since(r.begin))
					r.send("file", routers("a", fmt.Sprint(i+1)))
				}
				pass(5 * time.Second)
				if diff := cmp.Diff(test.want, r.moments()); diff != "" {
					t.Errorf("compiled at (-want +got):\n%s", diff)
				}
				if last := r.State().Configuration.HTTP.Routers.Get("a@file").Rule; last != fmt.Sprint(len(test.changes)) {
					t.Errorf("the last change is %s, want %d", last, len(test.changes))
				}
			})
		})
	}
}

func TestLoopEqualConfigurationIsNotCompiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		r.send("file", routers("a", "Host(`a`)"))
		pass(time.Second)
		r.send("file", routers("a", "Host(`a`)"))
		pass(time.Second)
		if len(r.seen().compiled) != 1 {
			t.Errorf("compiled %d times, want once", len(r.seen().compiled))
		}
	})
}

func TestLoopStartWaitsForPendingProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file", "docker", "crd")
		r.run(t)
		r.send("file", routers("a", "Host(`a`)"))
		pass(20 * ms)
		r.send("docker", routers("b", "Host(`b`)"))
		if len(r.moments()) != 0 || r.State().Ready || closed(r.FirstReady()) {
			t.Fatal("began while a provider was pending")
		}
		pass(20 * ms)
		r.providers["crd"] <- dynamic.Message{State: dynamic.StateAbsent, Reason: "no such API"}
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{40 * ms}, r.moments()); diff != "" {
			t.Errorf("compiled at (-want +got):\n%s", diff)
		}
		if state := r.State(); !state.Ready || state.Generation != 1 || !closed(r.FirstReady()) {
			t.Errorf("state = %+v, want ready", state)
		}
	})
}

// TestResponds finds out whether the loop takes events, which it does while it runs.
func TestResponds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		asked := func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return r.Responds(ctx)
		}
		if asked() {
			t.Error("it responds before it runs")
		}
		r.run(t)
		for range 2 {
			if !asked() {
				t.Error("it does not respond")
			}
		}
	})
}

func closed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

func TestLoopStartWaitsNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file", "docker")
		r.run(t)
		pass(time.Second)
		r.send("file", routers("a", "Host(`a`)"))
		pass(2 * time.Second)
		if diff := cmp.Diff([]time.Duration{1500 * ms}, r.moments()); diff != "" {
			t.Errorf("compiled at (-want +got):\n%s", diff)
		}
		if r.State().Ready || closed(r.FirstReady()) {
			t.Error("ready while a required provider is pending")
		}
		pass(provider.DefaultFirstStateTimeout)
		if state := r.State(); state.Ready || state.Providers["docker"].State != dynamic.StateTimedOut {
			t.Errorf("docker = %+v, want timed out and not ready", state.Providers["docker"])
		}
		r.send("docker", &dynamic.Configuration{})
		if !r.State().Ready {
			t.Error("not ready though an empty first configuration came late")
		}
	})
}

func TestLoopWaitsForEndpointSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd", "cluster")
		r.providers["cluster"].synced(r, t)
		r.send("crd", needing("c/default/web:80"))
		pass(300 * ms)
		if r.State().Generation != 0 || r.State().Ready {
			t.Fatal("swapped before the endpoint set had come")
		}
		r.endpoints("cluster", "c/default/other:80")
		if r.State().Generation != 0 || !slices.Equal(r.seen().applied, []string{"c/default/other:80"}) {
			t.Fatalf("generation %d, applied %v: want other sets applied meanwhile, and no swap", r.State().Generation,
				r.seen().applied)
		}
		r.endpoints("cluster", "c/default/web:80")
		if r.State().Generation != 1 || !r.State().Ready {
			t.Error("not swapped at once when the endpoint set had come")
		}
		// A set that the active table refers to already is not waited for.
		r.mu.Lock()
		r.known["c/default/web:80"] = false
		r.mu.Unlock()
		changed := needing("c/default/web:80")
		changed.HTTP.Routers.Get("r").Rule = "Host(`b`)"
		pass(time.Second)
		r.send("crd", changed)
		if r.State().Generation != 2 {
			t.Error("waited for a set that had been there before")
		}
	})
}

// synced makes the provider synced without a configuration, and starts the rig.
func (s sender) synced(r *rig, t *testing.T) {
	t.Helper()
	r.run(t)
	s <- dynamic.Message{State: dynamic.StateSynced}
	synctest.Wait()
}

func TestLoopWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		r.send("crd", needing("k"))
		pass(999 * ms)
		if len(r.seen().served) != 0 {
			t.Fatal("swapped too early")
		}
		pass(1 * ms)
		if len(r.seen().served) != 1 {
			t.Error("not swapped after one second")
		}
	})
}

func TestLoopNewerConfigurationSupersedes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		r.send("crd", routers("keep", "Host(`k`)"))
		pass(time.Second)
		first, second := needing("k"), needing("k")
		second.HTTP.Routers = second.HTTP.Routers.With("s", &dynamic.Router{Rule: "Host(`s`)", Service: "set:l"})
		r.send("crd", first)
		pass(600 * ms)
		r.send("crd", second)
		if last := r.seen().compiled[len(r.seen().compiled)-1]; !slices.Equal(last.changed, []string{
			"keep@crd", "r@crd",
			"s@crd",
		}) {
			t.Errorf("changed = %v, want everything since the active table", last.changed)
		}
		r.endpoints("crd", "l")
		pass(399 * ms)
		if len(r.seen().served) != 1 {
			t.Fatal("swapped before k was given up")
		}
		pass(1 * ms)
		if len(r.seen().served) != 2 || r.seen().served[1].HTTP.Routers.Len() != 2 {
			t.Error("k was waited for anew by the second table, or the first table was activated")
		}
	})
}

// Each configuration refers to a further set that never comes. That must not keep everything else from being served.
func TestLoopActivatesAlthoughTablesSupersedeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		for i := range 20 {
			r.send("crd", needing(fmt.Sprintf("k%d", i)))
			pass(500 * ms)
		}
		if got := len(r.seen().served); got < 3 {
			t.Errorf("%d tables were activated in 10 s, want at least 3", got)
		}
	})
}

func TestLoopResolverWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		r.send("file", needing("dns/a:80"))
		r.endpoints("file", "dns/a:80")
		pass(time.Second)
		r.send("file", needing("dns/b:80"))
		pass(time.Second)
		r.send("file", routers("a", "Host(`a`)"))
		pass(time.Second)
		want := [][]string{{"dns/a:80"}, {"dns/a:80", "dns/b:80"}, {"dns/b:80"}, {}}
		if diff := cmp.Diff(want, r.seen().watched, cmp.Transformer("empty", func(keys []string) []string {
			return append([]string{}, keys...)
		})); diff != "" {
			t.Errorf("watched (-want +got):\n%s", diff)
		}
	})
}

func TestLoopFlushesWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "cluster")
		r.run(t)
		r.mu.Lock()
		r.flushAt = time.Now().Add(10 * ms)
		r.mu.Unlock()
		r.endpoints("cluster", "k")
		before := r.seen().flushes
		pass(9 * ms)
		if r.seen().flushes != before {
			t.Error("flushed too early")
		}
		pass(1 * ms)
		if r.seen().flushes != before+1 {
			t.Errorf("flushed %d times more, want once when it was due", r.seen().flushes-before)
		}
	})
}

func TestLoopEndpointsAreNotDebounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "cluster")
		r.run(t)
		for range 20 {
			r.endpoints("cluster", "k")
		}
		if len(r.seen().applied) != 20 || time.Since(r.begin) != 0 {
			t.Errorf("applied %d of 20 sets after %s", len(r.seen().applied), time.Since(r.begin))
		}
	})
}

// TestEndpointSinks has a second sink receive what the balancer receives: sets that are added, changed and removed.
func TestEndpointSinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "cluster")
		r.run(t)
		one := []dynamic.Endpoint{{Address: netip.MustParseAddrPort("192.0.2.1:80")}}
		for _, message := range []dynamic.Message{
			{Endpoints: []dynamic.EndpointSet{{Key: "k", Endpoints: one}, {Key: "l"}}},
			{Endpoints: []dynamic.EndpointSet{{Key: "k"}}},
			{Endpoints: []dynamic.EndpointSet{{Key: "l", Deleted: true}}},
		} {
			r.providers["cluster"] <- message
			synctest.Wait()
		}
		want := []dynamic.EndpointSet{
			{Key: "k", Version: 1, Endpoints: one},
			{Key: "l", Version: 2},
			{Key: "k", Version: 3},
			{Key: "l", Version: 4, Deleted: true},
		}
		same := func(a, b netip.AddrPort) bool { return a == b }
		if diff := cmp.Diff(want, r.sink.received(), cmp.Comparer(same)); diff != "" {
			t.Errorf("sets of the second sink (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"k", "l", "k", "l"}, r.seen().applied); diff != "" {
			t.Errorf("sets of the balancer (-want +got):\n%s", diff)
		}
	})
}

func TestLoopMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		r.send("file", broken("r"))
		pass(time.Second)
		seen := r.seen()
		if len(seen.reloads) != 1 || seen.reloads[0].Generation != 1 || seen.quarantined != 1 {
			t.Errorf("reloads = %+v, %d quarantined", seen.reloads, seen.quarantined)
		}
	})
}

func TestRunFailsWithItsSource(t *testing.T) {
	hub := provider.NewHub([]provider.Entry{{Name: ""}}, telemetry.Discard{})
	p := pipeline.New(pipeline.Options{Source: hub, Endpoints: (*rigEndpoints)(&rig{}), Logger: telemetry.Discard{}})
	err := p.Run(t.Context())
	if err == nil || errors.Is(err, t.Context().Err()) {
		t.Errorf("Run = %v, want the source's error", err)
	}
}

// TestEndpointsThatFail are flushed at once, although no provider has sent anything.
func TestEndpointsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		pass(time.Minute)
		before := r.seen().flushes
		r.failed <- struct{}{}
		synctest.Wait()
		if after := r.seen().flushes; after != before+1 {
			t.Errorf("%d flushes after an endpoint failed", after-before)
		}
	})
}
