package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// A router of anybody may name these services, so one that the operator has not asked for must not exist.
func TestInternalServicesAreThoseThatAreAskedFor(t *testing.T) {
	everything := &static.Configuration{
		Ping: &static.Ping{}, API: &static.API{}, Metrics: &static.Metrics{Prometheus: &static.Prometheus{}},
	}
	for _, test := range []struct {
		name   string
		config *static.Configuration
		want   []string
	}{
		{"nothing", &static.Configuration{}, []string{"noop@internal"}},
		{"metrics elsewhere", &static.Configuration{Metrics: &static.Metrics{}}, []string{"noop@internal"}},
		{"everything", everything, []string{"api@internal", "noop@internal", "ping@internal", "prometheus@internal"}},
	} {
		s := &system{config: test.config, logger: telemetry.Discard{}, target: router.NewSwitch(nil)}
		s.metrics = telemetry.NewMetrics(func() uint64 { return 0 })
		if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(s.internalServices()))); diff != "" {
			t.Errorf("%s: services (-want +got):\n%s", test.name, diff)
		}
		if s.ping == nil {
			t.Errorf("%s: nobody can be told that Sluice drains", test.name)
		}
	}
}
