package metrics

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMiddlewaresAreCounted(t *testing.T) {
	metrics := New(Options{EntryPoints: true})
	metrics.Register(Middlewares(slices.Values([]MiddlewareCounts{{
		Middleware: "limit@file",
		Events:     map[string]uint64{"refused": 4, "delayed": 0},
		Levels:     map[string]int64{"sources": 0},
		States:     map[string]int{"tripped": 2},
	}})))
	page := scrape(t, metrics)
	for _, line := range []string{
		`sluice_middleware_events_total{event="refused",middleware="limit@file"} 4`,
		`sluice_middleware_level{level="sources",middleware="limit@file"} 0`,
		`sluice_middleware_states{middleware="limit@file",state="tripped"} 2`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(page, "delayed") {
		t.Error("what never happened is shown")
	}
	problems, err := testutil.GatherAndLint(metrics.page)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
