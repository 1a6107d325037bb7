package dynamic_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// endless returns trees that have no end, or none that a walk reaches.
func endless() map[string]*dynamic.Match {
	all, anyOf, not := &dynamic.Match{}, &dynamic.Match{}, &dynamic.Match{}
	all.All, anyOf.Any, not.Not = make([]dynamic.Match, 1), make([]dynamic.Match, 2), not
	all.All[0].All, anyOf.Any[0].Any, anyOf.Any[1].Any = all.All, anyOf.Any, anyOf.Any
	shared := []dynamic.Match{{Name: "A"}, {Name: "B"}}
	for range 90 {
		shared = []dynamic.Match{{Any: shared}, {All: shared}}
	}
	return map[string]*dynamic.Match{
		"cycle of one part":      all,
		"cycle of several parts": anyOf,
		"cycle of negations":     not,
		"shared parts":           {All: shared},
		"many parts":             {All: make([]dynamic.Match, 1<<20)},
	}
}

// TestMatchIsCutOff writes trees that are no rules.
func TestMatchIsCutOff(t *testing.T) {
	tests := endless()
	tests["large argument"] = &dynamic.Match{Name: "Path", Args: []string{strings.Repeat("a", 1<<20)}}
	tests["many arguments"] = &dynamic.Match{Name: "Path", Args: make([]string, 1<<20)}
	for name, tree := range tests {
		router := dynamic.Router{Match: tree}
		if text := router.RuleText(); len(text) > 300<<10 || !strings.Contains(text, "...") {
			t.Errorf("%s: %d bytes, want at most 300 KiB with a sign that they are cut off", name, len(text))
		}
	}
}

// TestMatchIsBounded walks trees that are no rules, and one with as many levels as a rule may have.
func TestMatchIsBounded(t *testing.T) {
	for name, tree := range endless() {
		if tree.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	tree := &dynamic.Match{Name: "Host", Args: []string{"a.test"}}
	for level := 1; level <= 101; level++ {
		tree = &dynamic.Match{Not: tree}
		if err := tree.Validate(); (err != nil) != (level > 100) {
			t.Errorf("%d levels below the root: %v", level, err)
		}
	}
}
