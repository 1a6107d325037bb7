package pipeline_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
)

// oneRouter is a router of a test, with its rule and middlewares.
type oneRouter struct {
	name, rule  string
	middlewares []string
}

func declared(line int, all ...oneRouter) *dynamic.Configuration {
	made := &dynamic.Configuration{
		HTTP:    &dynamic.HTTPConfiguration{Routers: immutable.Of(map[string]*dynamic.Router{})},
		Origins: immutable.Of(map[dynamic.Ref]dynamic.Origin{}),
	}
	for _, one := range all {
		made.HTTP.Routers = made.HTTP.Routers.With(one.name, &dynamic.Router{Rule: one.rule, Middlewares: one.middlewares})
		made.Origins = made.Origins.With(routerRef(one.name), dynamic.Origin{File: "f.yaml", Line: line})
	}
	return made
}

func TestGenerationsSayWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		r.send("file", declared(1, oneRouter{name: "a", rule: "1"}, oneRouter{name: "b", rule: "1"}))
		pass(time.Second)
		r.send("file", declared(2, oneRouter{name: "b", rule: "2"}, oneRouter{name: "c", rule: "1"}))
		pass(time.Second)
		r.send("file", declared(3, oneRouter{name: "b", rule: "2"}, oneRouter{name: "c", rule: "1"})) // only moved
		pass(time.Second)

		ref := func(name string) dynamic.Ref { return dynamic.Ref{Kind: dynamic.KindRouter, Name: name} }
		at := func(line int) dynamic.Origin { return dynamic.Origin{File: "f.yaml", Line: line} }
		one, two := &dynamic.Router{Rule: "1"}, &dynamic.Router{Rule: "2"}
		want := []pipeline.Generation{
			{
				Number: 1, Activated: r.begin, Added: 2, Lags: map[string]time.Duration{"file": 0},
				Changes: []pipeline.Change{
					{Ref: ref("a@file"), Kind: pipeline.ObjectAdded, After: one, Origin: at(1)},
					{Ref: ref("b@file"), Kind: pipeline.ObjectAdded, After: one, Origin: at(1)},
				},
			},
			{
				Number: 2, Activated: r.begin.Add(time.Second), Added: 1, Changed: 1, Removed: 1,
				Lags: map[string]time.Duration{"file": 0},
				Changes: []pipeline.Change{
					{Ref: ref("a@file"), Kind: pipeline.ObjectRemoved, Before: one, Origin: at(1)},
					{Ref: ref("b@file"), Kind: pipeline.ObjectChanged, Before: one, After: two, Origin: at(2)},
					{Ref: ref("c@file"), Kind: pipeline.ObjectAdded, After: one, Origin: at(2)},
				},
			},
		}
		if diff := cmp.Diff(want, r.State().Generations, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("generations (-want +got):\n%s", diff)
		}
	})
}

// TestLagCountsFromTheFirstUnservedMessage holds a burst back, and then waits for an endpoint set.
func TestLagCountsFromTheFirstUnservedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file", "other")
		r.run(t)
		r.send("other", routers("x", "1"))
		r.send("file", routers("a", "1"))
		pass(10 * ms)
		r.send("file", routers("a", "2")) // held for 100 ms
		pass(10 * ms)
		r.send("file", needing("k")) // held until 120 ms, then waits
		pass(300 * ms)
		r.endpoints("other", "k")
		pass(time.Second)
		last := r.State().Generations[len(r.State().Generations)-1]
		if diff := cmp.Diff(map[string]time.Duration{"file": 310 * ms}, last.Lags); diff != "" {
			t.Errorf("lags (-want +got):\n%s", diff)
		}
		if reloads := r.seen().reloads; !cmp.Equal(reloads[len(reloads)-1].Lags, last.Lags) {
			t.Errorf("the metrics got %v", reloads[len(reloads)-1].Lags)
		}
		r.send("file", needing("k")) // the same again
		pass(time.Second)
		r.send("other", routers("x", "2"))
		pass(time.Second)
		last = r.State().Generations[len(r.State().Generations)-1]
		if diff := cmp.Diff(map[string]time.Duration{"other": 0}, last.Lags); diff != "" {
			t.Errorf("lags after a message that changed nothing (-want +got):\n%s", diff)
		}
	})
}

func TestGenerationsTellVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		r.send("file", declared(1, oneRouter{name: "a", rule: "1", middlewares: []string{"missing"}}))
		if worse := r.State().Generations[0].Worse; len(worse) != 0 {
			t.Errorf("before the quiet window is over: %v", worse)
		}
		pass(time.Second)
		generations := r.State().Generations
		if worse := generations[0].Worse; len(generations) != 1 || len(worse) != 1 || worse[0].Ref.Name != "a@file" ||
			worse[0].Origin.Line != 1 {
			t.Errorf("after it: %+v", generations)
		}
		r.send("file", declared(1, oneRouter{name: "a", rule: "1"}))
		pass(time.Second)
		generations = r.State().Generations
		last := generations[len(generations)-1]
		if len(last.Recovered) != 1 || last.Recovered[0].Status != dynamic.Accepted || last.Changed != 1 {
			t.Errorf("after the recovery: %+v", last)
		}
		// A provider with another verdict on an object that serves on makes no generation of its own.
		again := declared(1, oneRouter{name: "a", rule: "1"})
		again.Verdicts = []dynamic.Verdict{{
			Ref: dynamic.Ref{Kind: dynamic.KindSource}, Status: dynamic.Quarantined,
			Reason: "unreadable",
		}}
		before := r.State()
		r.send("file", again)
		pass(time.Second)
		generations = r.State().Generations
		last = generations[len(generations)-1]
		if len(last.Worse) != 1 || last.Worse[0].Reason != "unreadable" || len(last.Changes) != 0 &&
			last.Number != before.Generation {
			t.Errorf("after a fault of the source: %+v", last)
		}
		if n := len(before.Generations[len(before.Generations)-1].Worse); n != 0 {
			t.Errorf("a State that was read before has %d verdicts more", n)
		}
	})
}

func TestGenerationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		many := func(rule string) *dynamic.Configuration {
			all := []oneRouter{}
			for i := range pipeline.MaxChanges + 50 {
				all = append(all, oneRouter{name: fmt.Sprint(i), rule: rule, middlewares: []string{"missing"}})
			}
			return declared(1, all...)
		}
		for i := range pipeline.MaxGenerations + 5 {
			r.send("file", many(fmt.Sprint(i)))
			pass(3 * time.Second)
		}
		state := r.State()
		if len(state.Generations) != pipeline.MaxGenerations {
			t.Fatalf("%d generations", len(state.Generations))
		}
		first, worst := state.Generations[0], 0
		for i, generation := range state.Generations {
			if generation.Number != first.Number+uint64(i) {
				t.Fatalf("generation %d follows %d", generation.Number, first.Number+uint64(i)-1)
			}
			if len(generation.Changes) > pipeline.MaxChanges || len(generation.Changes)+generation.More != generation.Changed {
				t.Errorf("%d changes and %d more of %d", len(generation.Changes), generation.More, generation.Changed)
			}
			worst = max(worst, len(generation.Changes))
		}
		if worst != pipeline.MaxChanges || first.Number == 1 {
			t.Errorf("at most %d changes, the oldest generation is %d", worst, first.Number)
		}
	})
}
