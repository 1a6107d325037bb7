package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestOriginsOfTheState wants where an object is declared now, also after it has only moved.
func TestOriginsOfTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		r.run(t)
		for line := 1; line <= 2; line++ {
			r.send("file", declared(line, oneRouter{name: "a", rule: "1"}))
			pass(time.Second)
			ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: "a@file"}
			if got, want := r.State().Origin(ref), (dynamic.Origin{File: "f.yaml", Line: line}); got != want {
				t.Errorf("a@file is at %s, want %s", got, want)
			}
			if got := r.State().Origin(dynamic.Ref{Kind: dynamic.KindRouter, Name: "b@file"}); got != (dynamic.Origin{}) {
				t.Errorf("what is not declared is at %s", got)
			}
		}
	})
}

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
			{"the same from another place", func() {
				moved := routers("a", "1")
				moved.Origins = moved.Origins.With(routerRef("a"), dynamic.Origin{File: "b"})
				r.send("file", moved)
			}, true},
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
