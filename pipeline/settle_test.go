package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
)

// broken makes a configuration of a router whose middleware is missing.
func broken(name string) *dynamic.Configuration {
	one := routers(name, "Host(`a`)")
	one.HTTP.Routers.Get(name).Middlewares = []string{"missing"}
	return one
}

func TestQuietWindowHidesWhatIsOnlyEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		r.send("crd", routers("r", "Host(`a`)"))
		pass(5 * time.Second)
		r.send("crd", broken("r"))
		pass(300 * ms)
		r.send("crd", routers("r", "Host(`fixed`)"))
		pass(5 * time.Second)
		if len(r.seen().published) != 0 {
			t.Errorf("published %v, want nothing", r.seen().published)
		}
		if generation := r.State().Generation; generation != 3 {
			t.Errorf("generation %d, want one for each edit", generation)
		}
	})
}

func TestQuietWindowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		r.send("crd", routers("r", "Host(`a`)"))
		pass(5 * time.Second)
		r.send("crd", broken("r"))
		pass(499 * ms)
		if len(r.seen().published) != 0 || len(r.State().Verdicts) != 0 {
			t.Fatalf("published %v before the window was over", r.seen().published)
		}
		pass(1 * ms)
		want := [][]dynamic.Verdict{{{Ref: routerRef("r@crd"), Status: dynamic.Quarantined, Reason: "missing"}}}
		if diff := cmp.Diff(want, r.seen().published); diff != "" {
			t.Errorf("published (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want[0], r.State().Verdicts); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		if generation := r.State().Generation; generation != 2 {
			t.Errorf("generation %d after the window, want one for each edit", generation)
		}

		// A published verdict is not published again, whatever else changes.
		next := broken("r")
		next.HTTP.Routers = next.HTTP.Routers.With("other", &dynamic.Router{Rule: "Host(`b`)"})
		r.send("crd", next)
		pass(5 * time.Second)
		if len(r.seen().published) != 1 || r.State().Generation != 3 {
			t.Errorf("published %d times, generation %d; want 1 and 3", len(r.seen().published), r.State().Generation)
		}

		// Recovery is published at once.
		r.send("crd", routers("r", "Host(`a`)", "other", "Host(`b`)"))
		if len(r.seen().published) != 2 || r.seen().published[1][0] != (dynamic.Verdict{
			Ref:    routerRef("r@crd"),
			Status: dynamic.Accepted,
		}) {
			t.Errorf("published %v, want an accepting verdict at once", r.seen().published)
		}
		if len(r.State().Verdicts) != 0 {
			t.Errorf("state still has %v", r.State().Verdicts)
		}
	})
}

// A router that is known to be broken is mended by a table that still waits when it breaks again. Nothing is new then,
// but the table has a stale route, which must not serve for ever.
func TestQuietWindowOfAStaleRouteEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		r.send("crd", broken("r"))
		pass(5 * time.Second)
		mended := routers("r", "Host(`a`)", "s", "Host(`s`)")
		mended.HTTP.Routers.Get("s").Service = "set:k"
		r.send("crd", mended)
		pass(200 * ms)
		again := broken("r")
		again.HTTP.Routers.Get("r").Service = "stale"
		r.send("crd", again)
		pass(5 * time.Second)
		if compiled := r.seen().compiled; !compiled[len(compiled)-1].final {
			t.Error("the stale route serves for ever")
		}
		if len(r.seen().published) != 1 {
			t.Errorf("published %v, want the first alarm alone", r.seen().published)
		}
	})
}

func TestQuietWindowAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		r.send("crd", broken("r"))
		if len(r.seen().served) != 1 || len(r.seen().published) != 0 {
			t.Fatalf("served %d, published %v; want the table at once and the alarm later", len(r.seen().served),
				r.seen().published)
		}
		pass(500 * ms)
		if len(r.seen().published) != 1 {
			t.Error("the alarm did not come")
		}
	})
}

func TestQuietWindowIsNotPutOffForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		r.send("crd", routers("r", "Host(`a`)"))
		pass(5 * time.Second)
		begin := time.Now()
		rules := []string{"Host(`x`)", "Host(`y`)"}
		for i := range 20 {
			next := broken("r")
			next.HTTP.Routers = next.HTTP.Routers.With("busy", &dynamic.Router{Rule: rules[i%2]})
			r.send("crd", next)
			pass(200 * ms)
		}
		if len(r.seen().published) != 1 || r.seen().when[0].Sub(begin) != pipeline.MaxSettle {
			t.Errorf("published %d times, first after %v; want once after %s",
				len(r.seen().published), r.seen().when, pipeline.MaxSettle)
		}
	})
}

func TestQuietWindowWithinABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd", "cluster")
		r.providers["cluster"].synced(r, t)
		first := broken("r")
		first.HTTP.Routers = first.HTTP.Routers.With("n", &dynamic.Router{Rule: "Host(`n`)", Service: "set:k"})
		r.send("crd", first)
		pass(500 * ms)
		if len(r.seen().published) != 0 {
			t.Error("a verdict was published before its table was active")
		}
		r.endpoints("cluster", "k")
		if len(r.seen().published) != 1 {
			t.Error("no verdict when the settled table became active")
		}
	})
}

func TestVerdictOriginFollowsTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		one := broken("r")
		at := func(line int) *dynamic.Configuration {
			return &dynamic.Configuration{
				HTTP:    one.HTTP,
				Origins: immutable.Of(map[dynamic.Ref]dynamic.Origin{routerRef("r"): {File: "f.yaml", Line: line}}),
			}
		}
		r.send("file", at(3))
		pass(time.Second)
		compiled := len(r.seen().compiled)
		r.send("file", at(8))
		pass(time.Second)
		if len(r.seen().compiled) != compiled {
			t.Error("an object that only moved was compiled again")
		}
		if diff := cmp.Diff([]string{"f.yaml:8: router r@file: missing"}, lines(r.State().Verdicts)); diff != "" {
			t.Errorf("verdicts (-want +got):\n%s", diff)
		}
	})
}

func TestDifference(t *testing.T) {
	verdict := func(name, reason string) dynamic.Verdict {
		return dynamic.Verdict{Ref: routerRef(name), Status: dynamic.Quarantined, Reason: reason}
	}
	before := pipeline.SortedVerdicts([]dynamic.Verdict{
		verdict("gone", "x"), verdict("same", "x"), verdict("two", "x"),
		verdict("two", "y"),
	})
	after := pipeline.SortedVerdicts([]dynamic.Verdict{
		verdict("two", "x"), verdict("two", "z"), verdict("same", "x"), verdict("same", "x"), verdict("new", "x"),
		{Ref: routerRef("fine"), Status: dynamic.Accepted},
	})
	worse, recovered := pipeline.Difference(before, after)
	if diff := cmp.Diff([]dynamic.Verdict{verdict("new", "x"), verdict("two", "x"), verdict("two", "z")},
		worse); diff != "" {
		t.Errorf("worse (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]dynamic.Verdict{{Ref: routerRef("gone"), Status: dynamic.Accepted}}, recovered); diff != "" {
		t.Errorf("recovered (-want +got):\n%s", diff)
	}
}

func TestQuietWindowKeepsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd", "dns")
		r.providers["dns"].synced(r, t)
		r.send("crd", needing("dns/a:80"))
		r.endpoints("dns", "dns/a:80")
		pass(5 * time.Second)
		stale := broken("r")
		stale.HTTP.Routers.Get("r").Service = "stale" // its service went, and its last good handler serves
		r.send("crd", stale)
		pass(499 * ms)
		if watched := r.seen().watched; len(watched) != 1 {
			t.Errorf("watched %v, want dns/a:80 until the window is over", watched)
		}
		pass(1 * ms)
		if watched := r.seen().watched; len(watched) != 2 || len(watched[1]) != 0 {
			t.Errorf("watched %v, want nothing after the window", watched)
		}
	})
}
