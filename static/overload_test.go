package static

import (
	"strings"
	"testing"
)

// TestLessImportantRequestsAreRefusedFirst demands that the thresholds are in order, except for those that are off.
func TestLessImportantRequestsAreRefusedFirst(t *testing.T) {
	for _, test := range []struct{ name, options, want string }{
		{"defaults", "", ""},
		{"equal", "actions: {shedLow: 90, shedDefault: 90, shedHigh: 90}", ""},
		{"default first", "actions: {shedDefault: 84}", "overload.actions.shedDefault: 84 is below shedLow, which is 85"},
		{"high first", "actions: {shedHigh: 91}", "overload.actions.shedHigh: 91 is below shedDefault, which is 92"},
		{
			"high before low", "actions: {shedDefault: 0, shedHigh: 80}",
			"overload.actions.shedHigh: 80 is below shedLow, which is 85",
		},
		{"all off", "actions: {shedLow: 0, shedDefault: 0, shedHigh: 0}", ""},
		{"high alone", "actions: {shedLow: 0, shedDefault: 0, shedHigh: 50}", ""},
		{"above all", "actions: {shedHigh: 101}", "overload.actions.shedHigh"},
		{"too often", "interval: 1ms", "overload.interval"},
		{"too seldom", "interval: 11s", "overload.interval"},
		{"no memory", "memory: {limit: -1}", ""},
		{"share", "memory: {gcShare: 101}", "overload.memory.gcShare"},
		{"connections", "connections: {limit: -1}", "overload.connections.limit"},
		{"hysteresis", "hysteresis: 51", "overload.hysteresis"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, findings := load(t, "entryPoints: {web: {address: ':1'}}\noverload: {"+test.options+"}\n", nil, nil)
			if got := joined(findings, Error); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
