package pipeline_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// stack is a pipeline with a real hub, compiler and registry, in a test's bubble.
type stack struct {
	*pipeline.Pipeline
	messages sender
	target   *router.ActiveTable
	log      *lineLogger // of verdicts and generations
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{messages: make(sender), log: new(lineLogger)}
	entrypoints := []router.EntryPoint{{Name: "web", Default: true}}
	s.target = router.NewActiveTable(entrypoints)
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	answer := func(body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	}
	s.Pipeline = pipeline.New(pipeline.Options{
		Source: provider.NewHub([]provider.Entry{{Name: "file", Provider: s.messages, Required: true}}, telemetry.Discard{}),
		Compiler: router.NewCompiler(router.Options{
			EntryPoints: entrypoints, Registry: registry, Tickets: certificate.NewTickets(),
			Internal: map[string]http.Handler{"a@internal": answer("a"), "b@internal": answer("b")},
		}, s.target),
		Endpoints: registry, Logger: s.log, Sinks: []pipeline.VerdictSink{pipeline.LogSink{Logger: s.log}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// send sends a configuration of two routers and a middleware, as edited.
func (s *stack) send(edit func(*dynamic.HTTPConfiguration)) {
	configuration := &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{
			"r": {Rule: "Host(`r.test`)", Service: "a@internal", Middlewares: []string{"m"}},
			"s": {Rule: "Host(`s.test`)", Service: "a@internal"},
		}),
		Middlewares: immutable.Of(map[string]*dynamic.Middleware{"m": {AddPrefix: &dynamic.AddPrefix{Prefix: "/m"}}}),
	}
	edit(configuration)
	s.messages <- dynamic.Message{Configuration: &dynamic.Configuration{HTTP: configuration}}
	synctest.Wait()
}

// get returns the status of an answer.
func (s *stack) get(t *testing.T, url string) int {
	t.Helper()
	recorder := httptest.NewRecorder()
	s.target.Handler("web").ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, url,
		http.NoBody))
	return recorder.Code
}

func none(*dynamic.HTTPConfiguration) {}

// TestABrokenObjectMakesOneGeneration also proves that what can still be on its way serves until the window is over.
func TestABrokenObjectMakesOneGeneration(t *testing.T) {
	tests := map[string]struct {
		edit            func(*dynamic.HTTPConfiguration)
		served, refused int    // while the settle window is open, and afterwards
		changes         string // of the generation, by the name of the object
	}{
		"a new rule that cannot be parsed": {
			edit: func(c *dynamic.HTTPConfiguration) {
				c.Routers = c.Routers.Without("r").With("n", &dynamic.Router{Rule: "Host("})
			},
			served: http.StatusNotFound, refused: http.StatusNotFound, changes: "n@file",
		},
		"a reference to nothing": {
			edit:   func(c *dynamic.HTTPConfiguration) { c.Routers.Get("r").Middlewares = []string{"n"} },
			served: http.StatusOK, refused: http.StatusServiceUnavailable, changes: "r@file",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t)
				s.send(none)
				pass(5 * time.Second)
				s.log.all = nil
				s.send(test.edit)
				pass(499 * time.Millisecond)
				if code, verdicts := s.get(t, "http://r.test/"), s.State().Verdicts; code != test.served || len(verdicts) != 0 {
					t.Errorf("within the window: %d, want %d, with verdicts %v", code, test.served, verdicts)
				}
				pass(time.Millisecond)
				state := s.State()
				if code := s.get(t, "http://r.test/"); code != test.refused || len(state.Verdicts) != 1 || !state.Settled {
					t.Errorf("after the window: %d, want %d, with verdicts %v", code, test.refused, state.Verdicts)
				}
				pass(5 * time.Second)
				last := s.State().Generations[len(s.State().Generations)-1]
				if last.Number != 2 || len(last.Changes) == 0 || last.Changes[0].Ref.Name != test.changes || len(last.Worse) != 1 {
					t.Errorf("the last generation is %+v", last)
				}
				if len(s.log.all) != 2 || s.log.all[0] == s.log.all[1] {
					t.Errorf("the log has %q, want one line for the generation and one for the verdict", s.log.all)
				}
			})
		})
	}
}

// TestAStaleRouteDoesNotHoldOtherEdits sends an edit of another router with the one that breaks a reference.
func TestAStaleRouteDoesNotHoldOtherEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t)
		s.send(none)
		pass(5 * time.Second)
		s.send(func(c *dynamic.HTTPConfiguration) {
			c.Middlewares = c.Middlewares.Without("m")
			c.Routers.Get("s").Rule = "Host(`t.test`)"
		})
		if code := s.get(t, "http://t.test/"); code != http.StatusOK || s.State().Generation != 2 {
			t.Errorf("%d at generation %d, want the other router's edit at once", code, s.State().Generation)
		}
		if code := s.get(t, "http://r.test/"); code != http.StatusOK {
			t.Errorf("%d, want the last good route", code)
		}
		pass(500 * time.Millisecond)
		if code := s.get(t, "http://r.test/"); code != http.StatusServiceUnavailable {
			t.Errorf("%d after the window, want 503", code)
		}
		last := s.State().Generations[len(s.State().Generations)-1]
		if last.Number != 3 || len(last.Changes) != 1 || last.Changes[0].Ref.Name != "r@file" {
			t.Errorf("the last generation is %+v, want one that changes the stale route", last)
		}
	})
}

// TestAReferenceThatComesInTimeMakesNoGenerationOfItsOwn mends the reference within the settle window.
func TestAReferenceThatComesInTimeMakesNoGenerationOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t)
		s.send(none)
		pass(5 * time.Second)
		s.send(func(c *dynamic.HTTPConfiguration) { c.Routers.Get("r").Middlewares = []string{"n"} })
		pass(300 * time.Millisecond)
		s.send(func(c *dynamic.HTTPConfiguration) {
			c.Routers.Get("r").Middlewares = []string{"n"}
			c.Middlewares = c.Middlewares.With("n", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/n"}})
		})
		pass(5 * time.Second)
		state := s.State()
		last := state.Generations[len(state.Generations)-1]
		if state.Generation != 2 || last.Added != 1 || last.Changed != 1 || len(last.Worse) != 0 || len(state.Verdicts) != 0 {
			t.Errorf("generation %d: %+v", state.Generation, last)
		}
		if code := s.get(t, "http://r.test/"); code != http.StatusOK {
			t.Errorf("%d, want the route with its new middleware", code)
		}
	})
}
