package dynamic_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestMatchIsCutOff writes trees that are no rules.
func TestMatchIsCutOff(t *testing.T) {
	all, anyOf, not := &dynamic.Match{}, &dynamic.Match{}, &dynamic.Match{}
	all.All, anyOf.Any, not.Not = make([]dynamic.Match, 1), make([]dynamic.Match, 2), not
	all.All[0].All, anyOf.Any[0].Any, anyOf.Any[1].Any = all.All, anyOf.Any, anyOf.Any
	shared := []dynamic.Match{{Name: "A"}, {Name: "B"}}
	for range 90 {
		shared = []dynamic.Match{{Any: shared}, {All: shared}}
	}
	tests := map[string]*dynamic.Match{
		"cycle of one part":      all,
		"cycle of several parts": anyOf,
		"cycle of negations":     not,
		"shared parts":           {All: shared},
		"large argument":         {Name: "Path", Args: []string{strings.Repeat("a", 1<<20)}},
		"many arguments":         {Name: "Path", Args: make([]string, 1<<20)},
		"many parts":             {All: make([]dynamic.Match, 1<<20)},
	}
	for name, tree := range tests {
		router := dynamic.Router{Match: tree}
		if text := router.RuleText(); len(text) > 300<<10 || !strings.Contains(text, "...") {
			t.Errorf("%s: %d bytes, want at most 300 KiB with a sign that they are cut off", name, len(text))
		}
	}
}
