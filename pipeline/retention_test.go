package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// declare sends a whole configuration.
func (s *stack) declare(configuration *dynamic.Configuration) {
	s.messages <- dynamic.Message{Configuration: configuration}
	synctest.Wait()
}

// TestAnInvalidChangeKeepsTheLastValidDefinition wants neither a generation nor an outage, a verdict that says since
// when, and an end of both with a valid definition.
func TestAnInvalidChangeKeepsTheLastValidDefinition(t *testing.T) {
	limit := func(average int64) *dynamic.Middleware {
		one := &dynamic.RateLimit{}
		one.SetDefaults()
		one.Average = average
		return &dynamic.Middleware{RateLimit: one}
	}
	tests := map[string]func(*dynamic.HTTPConfiguration){
		"a rule": func(c *dynamic.HTTPConfiguration) { c.Routers.Get("r").Rule = "Host(" },
		"a middleware": func(c *dynamic.HTTPConfiguration) {
			c.Middlewares = c.Middlewares.With("m", &dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{
				SourceRange: []string{"10.0.0.0/99"},
			}})
		},
		"a middleware of two kinds": func(c *dynamic.HTTPConfiguration) {
			two := limit(1)
			two.AddPrefix = &dynamic.AddPrefix{Prefix: "/m"}
			c.Middlewares = c.Middlewares.With("m", two)
		},
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t)
				s.send(none)
				pass(5 * time.Second)
				s.log.all = nil
				s.send(edit)
				pass(5 * time.Second)
				state := s.State()
				if code := s.get(t, "http://r.test/"); code != http.StatusOK || state.Generation != 1 {
					t.Errorf("%d at generation %d, want the last valid definition", code, state.Generation)
				}
				const text = "refused since 2000-01-01T00:00:05Z, the last valid definition stays in use"
				if len(state.Verdicts) != 1 || state.Verdicts[0].Status != dynamic.Retained ||
					!strings.HasSuffix(state.Verdicts[0].Reason, text) {
					t.Errorf("verdicts %v", state.Verdicts)
				}
				if worse := state.Generations[0].Worse; len(worse) != 1 || len(s.log.all) != 1 {
					t.Errorf("the history has %v, the log %q", worse, s.log.all)
				}
				s.send(none)
				pass(5 * time.Second)
				if state = s.State(); len(state.Verdicts) != 0 || state.Generation != 1 {
					t.Errorf("generation %d with %v, want the old one without verdicts", state.Generation, state.Verdicts)
				}
			})
		})
	}
}

// TestWhatIsNotRetained wants 503 as for every object that is missing or never was valid.
func TestWhatIsNotRetained(t *testing.T) {
	invalid := func(c *dynamic.HTTPConfiguration) {
		c.Middlewares = c.Middlewares.With("m", &dynamic.Middleware{})
	}
	removed := func(c *dynamic.HTTPConfiguration) { c.Middlewares = c.Middlewares.Without("m") }
	tests := map[string][]func(*dynamic.HTTPConfiguration){
		"never valid":               {invalid},
		"removed":                   {none, removed},
		"removed while retained":    {none, invalid, removed},
		"removed and back, invalid": {none, removed, invalid},
		"its reference is removed": {none, func(c *dynamic.HTTPConfiguration) {
			c.Routers.Get("r").Rule = "Host("
		}, func(c *dynamic.HTTPConfiguration) {
			c.Routers.Get("r").Rule = "Host("
			removed(c)
		}},
	}
	for name, edits := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t)
				for _, edit := range edits {
					s.send(edit)
					pass(5 * time.Second)
				}
				code := s.get(t, "http://r.test/")
				if state := s.State(); code != http.StatusServiceUnavailable || state.Verdicts[0].Status != dynamic.Quarantined {
					t.Errorf("%d with %v, want 503", code, state.Verdicts)
				}
			})
		})
	}
}

// TestARevokedDefinitionIsNotRetained wants 503 where a provider refuses what protects, and the last valid definition
// where it refuses something else.
func TestARevokedDefinitionIsNotRetained(t *testing.T) {
	for revokes, want := range map[bool]int{false: http.StatusOK, true: http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint(revokes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t)
				s.send(none)
				pass(5 * time.Second)
				s.messages <- dynamic.Message{Configuration: &dynamic.Configuration{
					HTTP: &dynamic.HTTPConfiguration{
						Routers: immutable.Of(map[string]*dynamic.Router{"r": {Rule: "Host(`r.test`)", Service: "a@internal"}}),
						Middlewares: immutable.Of(map[string]*dynamic.Middleware{
							"m": {AddPrefix: &dynamic.AddPrefix{Prefix: "/m"}},
						}),
					},
					Verdicts: []dynamic.Verdict{{
						Ref: dynamic.Ref{Kind: dynamic.KindRouter, Name: "r"}, Status: dynamic.Quarantined,
						Code: dynamic.CodeUnsupportedOption, Reason: "there is no firewall", Revokes: revokes,
					}},
				}}
				synctest.Wait()
				pass(5 * time.Second)
				if code := s.get(t, "http://r.test/"); code != want {
					t.Errorf("%d with %v, want %d", code, s.State().Verdicts, want)
				}
			})
		})
	}
}

// TestAMisspeltEntrypointIsNotRetained wants a router that is moved away from an entrypoint to leave it.
func TestAMisspeltEntrypointIsNotRetained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t)
		s.send(none)
		pass(5 * time.Second)
		s.send(func(c *dynamic.HTTPConfiguration) { c.Routers.Get("r").EntryPoints = []string{"wbe"} })
		pass(5 * time.Second)
		code := s.get(t, "http://r.test/")
		if state := s.State(); code == http.StatusOK || state.Verdicts[0].Status != dynamic.Quarantined {
			t.Errorf("%d with %v, want no answer of the router", code, state.Verdicts)
		}
	})
}

// TestARetainedRouterKeepsItsGuards edits a router with an error while its authentication is moved out of a chain, is
// replaced, or leaves a service, and wants 503 until the edit is valid.
func TestARetainedRouterKeepsItsGuards(t *testing.T) {
	auth := &dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{Users: []string{"a:$apr1$H6uskkkW$IgXLP6ewTrSuBkTrqE8wj/"}}}
	prefix := &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/m"}}
	chain := func(names ...string) *dynamic.Middleware {
		return &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: names}}
	}
	guarded := func(c *dynamic.HTTPConfiguration) {
		c.Middlewares = c.Middlewares.With("auth", auth).With("plain", prefix).With("m", chain("auth", "plain"))
	}
	moved := func(c *dynamic.HTTPConfiguration) {
		guarded(c)
		c.Middlewares = c.Middlewares.With("m", chain("plain"))
		c.Routers.Get("r").Middlewares = []string{"auth", "m"}
	}
	replaced := func(c *dynamic.HTTPConfiguration) {
		guarded(c)
		c.Middlewares = c.Middlewares.With("auth", prefix)
	}
	harmless := func(c *dynamic.HTTPConfiguration) {
		guarded(c)
		c.Middlewares = c.Middlewares.With("plain", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/other"}})
	}
	for name, test := range map[string]struct {
		edit func(*dynamic.HTTPConfiguration)
		code int
	}{
		"moved out of a chain":        {moved, http.StatusNotFound}, // Its rule does not compile, so it has no place.
		"replaced by something else":  {replaced, http.StatusNotFound},
		"something harmless replaced": {harmless, http.StatusUnauthorized},
	} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", later: ", later), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t)
					s.send(guarded)
					pass(5 * time.Second)
					if code := s.get(t, "http://r.test/"); code != http.StatusUnauthorized {
						t.Fatalf("%d, want 401", code)
					}
					invalid := func(edit func(*dynamic.HTTPConfiguration)) func(*dynamic.HTTPConfiguration) {
						return func(c *dynamic.HTTPConfiguration) {
							edit(c)
							c.Routers.Get("r").Rule = "Host(`r.test`"
						}
					}
					if later {
						s.send(invalid(guarded))
						pass(5 * time.Second)
						if code := s.get(t, "http://r.test/"); code != http.StatusUnauthorized {
							t.Fatalf("%d while retained, want 401", code)
						}
					}
					s.send(invalid(test.edit))
					pass(5 * time.Second)
					if code := s.get(t, "http://r.test/"); code != test.code {
						t.Errorf("%d, want %d: %v", code, test.code, s.State().Verdicts)
					}
				})
			})
		}
	}
}

// TestRandomEditsKeepTheLastValidDefinition compares with a model: the last valid definition since the object was
// added.
func TestRandomEditsKeepTheLastValidDefinition(t *testing.T) {
	const objects = 5
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		s := newStack(t)
		declared, model := map[string]*dynamic.Router{}, map[string]*dynamic.Router{}
		refused := map[string]bool{}
		for range 300 {
			name := fmt.Sprintf("r%d", random.IntN(objects))
			next := &dynamic.Router{Rule: fmt.Sprintf("PathPrefix(`/%d`)", random.IntN(50)), Service: "a@internal"}
			switch action := random.IntN(4); {
			case action == 0:
				delete(declared, name)
				delete(model, name)
				delete(refused, name)
			case action == 1:
				next.Rule = fmt.Sprintf("Path(%d", random.IntN(50))
				if known := declared[name]; known == nil || !refused[name] && strings.HasPrefix(known.Rule, "Path(") {
					model[name] = nil // It never was valid.
				} else {
					refused[name] = model[name] != nil
				}
				declared[name] = next
			default:
				declared[name], model[name] = next, next
				delete(refused, name)
			}
			s.declare(&dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{Routers: immutable.Of(declared)}})
			pass(time.Second)
			statuses := map[string]dynamic.Status{}
			for _, verdict := range s.State().Verdicts {
				statuses[verdict.Ref.Name] = verdict.Status
			}
			for name := range declared {
				used := s.State().Configuration.HTTP.Routers.Get(name + "@file")
				want := dynamic.Accepted
				switch {
				case model[name] == nil:
					want = dynamic.Quarantined
				case refused[name]:
					want = dynamic.Retained
				}
				if got := statuses[name+"@file"]; got != want || want != dynamic.Quarantined && used.Rule != model[name].Rule {
					t.Fatalf("%s is %s with %q, want %s: %v", name, got, used.Rule, want, s.State().Verdicts)
				}
			}
		}
	})
}
