package outlier

import (
	"strings"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

func passiveOf(window time.Duration, attempts int) *dynamic.PassiveServerHealthCheck {
	return &dynamic.PassiveServerHealthCheck{FailureWindow: ptypes.Duration(window), MaxFailedAttempts: attempts}
}

// detectionOf returns the default detection with some options changed.
func detectionOf(change func(*dynamic.OutlierDetection)) *dynamic.OutlierDetection {
	detection := &dynamic.OutlierDetection{}
	detection.SetDefaults()
	if change != nil {
		change(detection)
	}
	return detection
}

func policyOf(t testing.TB, passive *dynamic.PassiveServerHealthCheck, detection *dynamic.OutlierDetection) *Policy {
	t.Helper()
	policy, err := NewPolicy(passive, detection)
	if err != nil {
		t.Fatal(err)
	}
	return &policy
}

func TestNewPolicyNamesWhatIsWrong(t *testing.T) {
	number := func(n int) *int { return &n }
	tests := []struct {
		name      string
		passive   *dynamic.PassiveServerHealthCheck
		detection func(*dynamic.OutlierDetection)
		says      string
	}{
		{"window 0", passiveOf(0, 1), nil, "passiveHealthCheck.failureWindow: 0s is not above 0"},
		{"window negative", passiveOf(-time.Second, 1), nil, "passiveHealthCheck.failureWindow: -1s is not above 0"},
		{"attempts 0", passiveOf(time.Second, 0), nil, "passiveHealthCheck.maxFailedAttempts: 0 is below 1"},
		{"failures", nil, func(o *dynamic.OutlierDetection) {
			o.ConsecutiveFailures = number(-1)
		}, "outlierDetection.consecutiveFailures: -1 is negative"},
		{"status", nil, func(o *dynamic.OutlierDetection) {
			o.Status = []string{"502", "7xx"}
		}, `outlierDetection.status "7xx": `},
		{"base", nil, func(o *dynamic.OutlierDetection) {
			o.BaseEjectionTime = 0
		}, "outlierDetection.baseEjectionTime: 0s is not above 0"},
		{"max", nil, func(o *dynamic.OutlierDetection) {
			o.MaxEjectionTime = 1e9
		}, "outlierDetection.maxEjectionTime: 1s is below the baseEjectionTime 2s"},
		{"percent", nil, func(o *dynamic.OutlierDetection) {
			o.MaxEjectedPercent = number(101)
		}, "outlierDetection.maxEjectedPercent: 101 is not 0 to 100"},
		{"negative percent", nil, func(o *dynamic.OutlierDetection) {
			o.MaxEjectedPercent = number(-1)
		}, "outlierDetection.maxEjectedPercent: -1 is not 0 to 100"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			detection := detectionOf(test.detection)
			if test.detection == nil {
				detection = nil
			}
			_, err := NewPolicy(test.passive, detection)
			if err == nil || !strings.HasPrefix(err.Error(), test.says) {
				t.Errorf("got %v, want %s", err, test.says)
			}
		})
	}
}

func TestNewPolicyFillsInDefaults(t *testing.T) {
	implicit := policyOf(t, nil, nil)
	explicit := policyOf(t, nil, detectionOf(nil))
	sparse := policyOf(t, nil, detectionOf(func(o *dynamic.OutlierDetection) {
		o.ConsecutiveFailures, o.MaxEjectedPercent = nil, nil
	}))
	if *implicit != *explicit || *implicit != *sparse {
		t.Errorf("defaults differ:\n%+v\n%+v\n%+v", implicit, explicit, sparse)
	}
	if !implicit.Enabled() {
		t.Error("without options there is a policy")
	}
	zero := 0
	off := policyOf(t, nil, detectionOf(func(o *dynamic.OutlierDetection) { o.ConsecutiveFailures = &zero }))
	if off.Enabled() {
		t.Error("0 failures in a row don't turn the detection off")
	}
	alone := policyOf(t, passiveOf(time.Second, 3), nil)
	if !alone.Enabled() || alone.consecutive != 0 {
		t.Error("passiveHealthCheck alone is not in force alone")
	}
	if *alone == *policyOf(t, passiveOf(time.Second, 4), nil) {
		t.Error("policies that differ are equal")
	}
}

func TestFailuresAreWhatEachOptionSays(t *testing.T) {
	coded := detectionOf(func(o *dynamic.OutlierDetection) { o.Status = []string{"502-504", "429"} })
	tests := []struct {
		name                string
		result              Result
		passive, plain, set bool
	}{
		{"nothing known", Result{}, false, false, false},
		{"200", Result{Status: 200}, false, false, false},
		{"429", Result{Status: 429}, false, false, true},
		{"499", Result{Status: 499}, false, false, false},
		{"500", Result{Status: 500}, true, false, false},
		{"503", Result{Status: 503}, true, false, true},
		{"599", Result{Status: 599}, true, false, false},
		{"no connection", Result{Unreachable: true}, true, true, true},
		{"no response", Result{Broken: true}, true, true, true},
		{"response cut", Result{Broken: true, Status: 200}, true, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, judge := range []struct {
				name   string
				policy *Policy
				guilty bool
			}{
				{"passive", policyOf(t, passiveOf(time.Second, 1), nil), test.passive},
				{"detection", policyOf(t, nil, nil), test.plain},
				{"detection with status", policyOf(t, nil, coded), test.set},
			} {
				if got := judge.policy.detect(&test.result) != 0; got != judge.guilty {
					t.Errorf("%s: got %v, want %v", judge.name, got, judge.guilty)
				}
			}
		})
	}
}

func TestAllowsCapsTheShareAndSparesTheLast(t *testing.T) {
	tests := []struct{ percent, ejected, total, most int }{
		{50, 0, 1, 0},
		{50, 0, 2, 1},
		{50, 0, 3, 1},
		{50, 0, 4, 2},
		{50, 0, 5, 2},
		{50, 0, 1000, 500},
		{100, 0, 5, 4},
		{100, 0, 1, 0},
		{10, 0, 5, 1}, // A share rounds down to none, and one endpoint may be ejected all the same.
		{0, 0, 5, 0},
		{33, 0, 9, 2},
		{50, 0, 0, 0},
	}
	for _, test := range tests {
		policy := policyOf(t, nil, detectionOf(func(o *dynamic.OutlierDetection) { o.MaxEjectedPercent = &test.percent }))
		out := 0
		for out <= test.total && policy.Allows(out, 0, test.total, true) {
			out++
		}
		if out != test.most {
			t.Errorf("%d %% of %d: %d may be out, want %d", test.percent, test.total, out, test.most)
		}
	}
	if alone := policyOf(t, passiveOf(time.Second, 1), nil); !alone.Allows(3, 0, 5, true) || alone.Allows(4, 0, 5, true) {
		t.Error("with passiveHealthCheck alone it is not all but one that may be out")
	}
}

// TestUnreachableMembersDoNotCount lets all but the last be out of those that take no connection, beside the
// share of the others.
func TestUnreachableMembersDoNotCount(t *testing.T) {
	policy := policyOf(t, nil, detectionOf(func(o *dynamic.OutlierDetection) { o.MaxEjectedPercent = new(50) }))
	for _, test := range []struct {
		out, unreachable, total int
		reached, want           bool
	}{
		{2, 0, 5, true, false},
		{2, 1, 5, true, true},
		{3, 1, 5, true, false},
		{2, 0, 5, false, true},
		{4, 4, 5, false, false},
		{4, 4, 5, true, false},
	} {
		if got := policy.Allows(test.out, test.unreachable, test.total, test.reached); got != test.want {
			t.Errorf("%d of %d are out, %d unreachable: one more (reached %v) is allowed: %v", test.out, test.total,
				test.unreachable, test.reached, got)
		}
	}
	never := policyOf(t, nil, detectionOf(func(o *dynamic.OutlierDetection) { o.MaxEjectedPercent = new(0) }))
	if never.Allows(0, 0, 5, false) {
		t.Error("a share of 0 lets an endpoint be ejected")
	}
}
