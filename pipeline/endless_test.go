package pipeline_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestAnEndlessRuleIsQuarantined sends trees with a cycle, and again with other pointers, so that they are compared.
func TestAnEndlessRuleIsQuarantined(t *testing.T) {
	trees := map[string]func() *dynamic.Match{
		"negations": func() *dynamic.Match {
			tree := &dynamic.Match{}
			tree.Not = tree
			return tree
		},
		"parts": func() *dynamic.Match {
			parts := make([]dynamic.Match, 2)
			parts[0].Any, parts[1].All = parts, parts
			return &dynamic.Match{All: parts}
		},
	}
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t)
				for range 2 {
					s.send(func(c *dynamic.HTTPConfiguration) {
						c.Routers = c.Routers.With("r", &dynamic.Router{Match: tree(), Service: "a@internal"})
					})
					pass(5 * time.Second)
				}
				if endless, other := s.get(t, "http://r.test/"), s.get(t, "http://s.test/"); endless != http.StatusNotFound ||
					other != http.StatusOK {
					t.Errorf("the router answers %d, another one %d", endless, other)
				}
				state := s.State()
				if len(state.Verdicts) != 1 || state.Verdicts[0].Ref.Name != "r@file" ||
					state.Verdicts[0].Code != dynamic.CodeInvalidRule {
					t.Errorf("verdicts: %v", state.Verdicts)
				}
				if _, err := json.Marshal(dynamic.Redacted(state.Configuration)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
