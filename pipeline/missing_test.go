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

// lacking makes a configuration of a router that its provider refuses, because a Service is missing.
func lacking(name string, resource *dynamic.Resource) *dynamic.Configuration {
	one := routers(name, "Host(`a`)")
	one.Origins = immutable.Of(map[dynamic.Ref]dynamic.Origin{
		routerRef(name): {Object: "IngressRoute shop/web", Resource: resource},
	})
	one.Verdicts = []dynamic.Verdict{{
		Ref: routerRef(name), Status: dynamic.Quarantined, Reason: "Service shop/web does not exist", Missing: true,
	}}
	return one
}

func TestQuietWindowHidesWhatAProviderDoesNotFindYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		resource := &dynamic.Resource{UID: "1", Generation: 1}
		r.send("crd", lacking("r", resource))
		pass(300 * ms)
		r.send("crd", routers("r", "Host(`a`)"))
		pass(5 * time.Second)
		if len(r.seen().published) != 0 {
			t.Fatalf("published %v, want nothing", r.seen().published)
		}
		r.send("crd", lacking("r", resource))
		pass(499 * ms)
		if len(r.seen().published) != 0 || r.State().Settled {
			t.Fatalf("published %v before the window was over, settled %t", r.seen().published, r.State().Settled)
		}
		pass(1 * ms)
		want := [][]dynamic.Verdict{{{
			Ref: routerRef("r@crd"), Status: dynamic.Quarantined, Reason: "Service shop/web does not exist", Missing: true,
			Origin: dynamic.Origin{Object: "IngressRoute shop/web", Resource: resource},
		}}}
		if diff := cmp.Diff(want, r.seen().published); diff != "" || !r.State().Settled {
			t.Errorf("settled %t, published (-want +got):\n%s", r.State().Settled, diff)
		}
	})
}

// A further version of an object with the same fault is no news, but the state shows the version. Another
// object of the same name gets its own verdict.
func TestVerdictsFollowTheVersionOfTheirObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd")
		r.run(t)
		r.send("crd", lacking("r", &dynamic.Resource{UID: "1", Generation: 1}))
		pass(time.Second)
		second := &dynamic.Resource{UID: "1", Generation: 2}
		latest := lacking("r", second)
		r.send("crd", latest)
		pass(time.Second)
		if published := len(r.seen().published); published != 1 {
			t.Errorf("published %d times, want once", published)
		}
		if state := r.State(); state.Verdicts[0].Origin.Resource != second || state.Included["crd"] != latest ||
			!state.Settled {
			t.Errorf("the state is settled: %t, and shows %v", state.Settled, state.Verdicts[0].Origin.Resource)
		}
		r.send("crd", lacking("r", &dynamic.Resource{UID: "2", Generation: 1}))
		pass(time.Second)
		if published := len(r.seen().published); published != 2 {
			t.Errorf("published %d times, want one for the new object too", published)
		}
	})
}

func TestIncludedIsWhatTheActiveTableIsMadeOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "crd", "cluster")
		r.providers["cluster"].synced(r, t)
		first, second := routers("r", "Host(`a`)"), needing("k")
		r.send("crd", first)
		pass(time.Second)
		r.send("crd", second)
		if r.State().Included["crd"] != first {
			t.Error("a configuration whose table still waits for endpoints is shown as active")
		}
		r.endpoints("cluster", "k")
		if r.State().Included["crd"] != second {
			t.Error("the active configuration is not shown")
		}
	})
}

func TestSortedVerdictsPutWhatIsCertainFirstAndDropRepetitions(t *testing.T) {
	verdict := func(reason string, missing bool, uid string) dynamic.Verdict {
		return dynamic.Verdict{
			Ref: routerRef("r"), Status: dynamic.Quarantined, Reason: reason, Missing: missing,
			Origin: dynamic.Origin{Resource: &dynamic.Resource{UID: uid}},
		}
	}
	got := pipeline.SortedVerdicts([]dynamic.Verdict{
		verdict("a", true, "1"), verdict("b", false, "2"), verdict("b", false, "1"), verdict("b", false, "2"),
		verdict("a", true, "1"),
	})
	want := []dynamic.Verdict{verdict("b", false, "1"), verdict("b", false, "2"), verdict("a", true, "1")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
}
