package router

import (
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
)

// TestBalancingOptions quarantines the service alone whose options make no sense, and names the option.
func TestBalancingOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(*dynamic.ServersLoadBalancer)
		want string // empty: accepted
	}{
		{"nothing", func(*dynamic.ServersLoadBalancer) {}, ""},
		{"strategy", func(l *dynamic.ServersLoadBalancer) { l.Strategy = "leastreqest" }, `leastrequest`},
		{"hash of another strategy", func(l *dynamic.ServersLoadBalancer) { l.Hash = &dynamic.HashStrategy{} }, "hash"},
		{"panicThreshold", func(l *dynamic.ServersLoadBalancer) {
			l.PanicThreshold = 101
		}, "loadBalancer.panicThreshold: 101 is not 0 to 100"},
		{"slowStart", func(l *dynamic.ServersLoadBalancer) { l.SlowStart = -1 }, "loadBalancer.slowStart"},
		{"drainTimeout", func(l *dynamic.ServersLoadBalancer) { l.DrainTimeout = -1 }, "loadBalancer.drainTimeout"},
		{"a check", func(l *dynamic.ServersLoadBalancer) {
			l.HealthCheck = &dynamic.ServerHealthCheck{}
			l.HealthCheck.SetDefaults()
		}, ""},
		{"interval", func(l *dynamic.ServersLoadBalancer) {
			l.HealthCheck = &dynamic.ServerHealthCheck{}
			l.HealthCheck.SetDefaults()
			l.HealthCheck.Interval = -1
		}, "loadBalancer.healthCheck.interval"},
		{"passive", func(l *dynamic.ServersLoadBalancer) {
			l.PassiveHealthCheck = &dynamic.PassiveServerHealthCheck{FailureWindow: 1e9, MaxFailedAttempts: -1}
		}, "loadBalancer.passiveHealthCheck.maxFailedAttempts"},
		{"detection", func(l *dynamic.ServersLoadBalancer) {
			l.OutlierDetection = &dynamic.OutlierDetection{}
			l.OutlierDetection.SetDefaults()
			l.OutlierDetection.Status = []string{"many"}
		}, "loadBalancer.outlierDetection"},
		{"cookie", func(l *dynamic.ServersLoadBalancer) {
			l.Sticky = &dynamic.Sticky{Cookie: &dynamic.Cookie{SameSite: "some"}}
		}, "loadBalancer.sticky.cookie"},
		{"sticky without a cookie", func(l *dynamic.ServersLoadBalancer) { l.Sticky = &dynamic.Sticky{} }, ""},
		{"attempts", func(l *dynamic.ServersLoadBalancer) {
			l.Retry = &dynamic.ServerRetry{Attempts: new(-1)}
		}, "loadBalancer.retry.attempts"},
		{"budget", func(l *dynamic.ServersLoadBalancer) {
			l.Retry = &dynamic.ServerRetry{BudgetPercent: new(-2)}
		}, "loadBalancer.retry.budgetPercent"},
		{"limits", func(l *dynamic.ServersLoadBalancer) {
			l.Limits = &dynamic.ServerLimits{MaxConnections: -1}
		}, "loadBalancer.limits.maxConnections: -1 is negative"},
		{"a queue without time", func(l *dynamic.ServersLoadBalancer) {
			l.Limits = &dynamic.ServerLimits{MaxConnections: 1, MaxPending: 1}
		}, "loadBalancer.limits.pendingTimeout"},
		{"a queue that nothing fills", func(l *dynamic.ServersLoadBalancer) {
			l.Limits = &dynamic.ServerLimits{MaxPending: 1, PendingTimeout: 1e9}
		}, "loadBalancer.limits.maxPending"},
	} {
		b := newBench(t)
		balancer := &dynamic.ServersLoadBalancer{Servers: []dynamic.Server{{URL: "http://192.0.2.1"}}}
		test.set(balancer)
		b.service("s@file", &dynamic.Service{LoadBalancer: balancer})
		b.router("good@file", "PathPrefix(`/good`)", "a@internal")
		b.all()
		if test.want != "" {
			b.wantVerdict(ref(dynamic.KindService, "s@file"), dynamic.Quarantined, test.want)
		} else if len(b.compiled.Verdicts) > 0 {
			t.Errorf("%s: %+v", test.name, b.compiled.Verdicts)
		}
		if status, _, _ := b.get("http://x/good"); status != 200 {
			t.Errorf("%s: the route of another service answers %d", test.name, status)
		}
	}
}

// TestPoliciesAreThoseOfTheOptions compares the policies of a pool with what the configuration says.
func TestPoliciesAreThoseOfTheOptions(t *testing.T) {
	got, err := policies("shop", &dynamic.ServersLoadBalancer{
		PanicThreshold: 40, SlowStart: 3e9, DrainTimeout: 5e9, ZoneAware: new(true),
		Retry:       &dynamic.ServerRetry{BudgetPercent: new(7)},
		HealthCheck: &dynamic.ServerHealthCheck{Path: "/", Interval: 1e9, Timeout: 1e9},
		Sticky:      &dynamic.Sticky{Cookie: &dynamic.Cookie{Name: "lb"}},
		Limits:      &dynamic.ServerLimits{MaxConnections: 1, MaxPoolConnections: 2, MaxPending: 3, PendingTimeout: 4e9},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Checked || !got.Sticks || got.Cookie.Name() != "lb" || !got.Outlier.Enabled() {
		t.Errorf("check, cookie or detection are missing: %+v", got)
	}
	want := loadbalancer.Policies{
		Panic: 40, SlowStart: 3 * time.Second, DrainTime: 5 * time.Second, Zone: loadbalancer.ZoneLocal, RetryPercent: 7,
		Limits:   loadbalancer.Limits{PerEndpoint: 1, PerPool: 2, Pending: 3, PendingTime: 4 * time.Second},
		Strategy: got.Strategy, Checked: true, Check: got.Check, Outlier: got.Outlier, Sticks: true, Cookie: got.Cookie,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, test := range []struct {
		aware *bool
		want  loadbalancer.ZonePolicy
	}{{nil, loadbalancer.ZoneHints}, {new(true), loadbalancer.ZoneLocal}, {new(false), loadbalancer.ZoneNone}} {
		if zonePolicy(test.aware) != test.want {
			t.Errorf("zoneAware %v is %v", test.aware, zonePolicy(test.aware))
		}
	}
	if plain, err := policies("shop", &dynamic.ServersLoadBalancer{}); err != nil || plain.RetryPercent != 20 ||
		!plain.Outlier.Enabled() {
		t.Errorf("without options: %+v, %v", plain, err)
	}
}

// TestAnswersWorthAnotherTryAreFailures judges endpoints by retry.status where nothing else says how to judge them.
func TestAnswersWorthAnotherTryAreFailures(t *testing.T) {
	detections := func(set func(*dynamic.OutlierDetection)) *dynamic.OutlierDetection {
		made := &dynamic.OutlierDetection{}
		made.SetDefaults()
		set(made)
		return made
	}
	retrying := &dynamic.ServerRetry{Status: []string{"503"}}
	for _, test := range []struct {
		name   string
		config dynamic.ServersLoadBalancer
		same   *dynamic.OutlierDetection
	}{
		{"retry.status", dynamic.ServersLoadBalancer{Retry: retrying}, detections(func(o *dynamic.OutlierDetection) {
			o.Status = []string{"503"}
		})},
		{"an option of its own", dynamic.ServersLoadBalancer{
			Retry: retrying, OutlierDetection: detections(func(o *dynamic.OutlierDetection) { o.Status = []string{"500"} }),
		}, detections(func(o *dynamic.OutlierDetection) { o.Status = []string{"500"} })},
		{"retry without status", dynamic.ServersLoadBalancer{Retry: &dynamic.ServerRetry{}}, nil},
	} {
		got, err := policies("shop", &test.config)
		want, wrong := outlier.NewPolicy(nil, test.same)
		if err != nil || wrong != nil || got.Outlier != want {
			t.Errorf("%s: %+v, %v", test.name, got.Outlier, err)
		}
	}
	passive := &dynamic.PassiveServerHealthCheck{FailureWindow: 1e9, MaxFailedAttempts: 1}
	got, err := policies("shop", &dynamic.ServersLoadBalancer{Retry: retrying, PassiveHealthCheck: passive})
	want, wrong := outlier.NewPolicy(passive, nil)
	if err != nil || wrong != nil || got.Outlier != want {
		t.Errorf("beside passiveHealthCheck: %+v, %v", got.Outlier, err)
	}
}
