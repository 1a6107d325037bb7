package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
)

func TestNewsOfWhatOthersWantToKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file", "docker")
		r.run(t)
		tests := []struct {
			name string
			do   func()
			news bool
		}{
			{"a provider that fails", func() {
				r.providers["docker"] <- dynamic.Message{State: dynamic.StateForbidden, Reason: "no"}
			}, true},
			{"the same again", func() {
				r.providers["docker"] <- dynamic.Message{State: dynamic.StateForbidden, Reason: "no"}
			}, false},
			{"a first configuration", func() { r.send("file", routers("a", "1")) }, true},
			{"endpoints", func() { r.endpoints("file", "k") }, false},
			{"the same configuration", func() { r.send("file", routers("a", "1")) }, false},
			{"another configuration", func() { r.send("file", routers("a", "2")) }, true},
			{"a provider that becomes ready", func() { r.send("docker", routers("b", "1")); pass(time.Second) }, true},
			{"a verdict", func() { r.send("file", routers("a", "bad")); pass(time.Second) }, true},
		}
		for _, test := range tests {
			before := r.State()
			test.do()
			synctest.Wait()
			pass(200 * ms)
			if got := closed(before.Changed); got != test.news {
				t.Errorf("%s: news = %v", test.name, got)
			}
			if now := r.State(); closed(now.Changed) {
				t.Errorf("%s: the latest State has news already", test.name)
			}
		}
	})
}

// TestEndpointChangesMakeNothing bounds what the State of an endpoint change costs beside the State itself.
func TestEndpointChangesMakeNothing(t *testing.T) {
	p := New(Options{})
	p.update.States = map[string]provider.Status{"a": {State: dynamic.StateSynced}, "b": {
		State:  dynamic.StateSynced,
		Reason: "r",
	}}
	p.active.generation = 1
	p.published = make([]dynamic.Verdict, 10)
	p.remember(Generation{Number: 1})
	p.publishState()
	if got := testing.AllocsPerRun(100, p.publishState); got > 1 {
		t.Errorf("a State takes %v allocations", got)
	}
}

func BenchmarkPublishState(b *testing.B) {
	p := New(Options{})
	p.update.States = map[string]provider.Status{}
	for _, name := range []string{"internal", "file", "docker", "dns", "kubernetescrd", "kubernetes", "endpoints"} {
		p.update.States[name] = provider.Status{State: dynamic.StateSynced}
	}
	p.active.generation = 1
	p.remember(Generation{Number: 1})
	b.ReportAllocs()
	for b.Loop() {
		p.publishState()
	}
}
