package rule_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/rule"
)

// TestPatternsEnd has many rules come and go. What they had in common with others ends with the last one.
func TestPatternsEnd(t *testing.T) {
	var patterns rule.Patterns
	heap := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before, filler := heap(), strings.Repeat("x", 4000)
	for i := range 6000 {
		if _, err := rule.NewShared(&dynamic.Match{
			Name: "PathRegexp", Args: []string{fmt.Sprintf("^/%d[%s]", i, filler)},
		}, &patterns); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 0 {
			runtime.GC()
		}
	}
	if grown := heap() - before; grown > 12<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
	runtime.KeepAlive(&patterns)
}

// TestSharedBudget counts a shared regular expression in each rule that has it.
func TestSharedBudget(t *testing.T) {
	var patterns rule.Patterns
	one := dynamic.Match{Name: "PathRegexp", Args: []string{"^/[a-z]{1000}$"}}
	usual, err := rule.NewShared(&one, &patterns)
	if err != nil {
		t.Fatal(err)
	}
	many := dynamic.Match{}
	for range 100 {
		many.Any = append(many.Any, one)
	}
	if _, err := rule.NewShared(&many, &patterns); err == nil || !strings.Contains(err.Error(), "repeat too much") {
		t.Error(err)
	}
	runtime.KeepAlive(usual)
}
