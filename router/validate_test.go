package router_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router"
)

// TestValidateJudgesADefinitionByItself wants missing references to be no fault, and every fault of the definition one.
func TestValidateJudgesADefinitionByItself(t *testing.T) {
	balancer := func(edit func(*dynamic.ServersLoadBalancer)) *dynamic.Service {
		one := &dynamic.ServersLoadBalancer{}
		one.SetDefaults()
		one.Servers = []dynamic.Server{{URL: "http://127.0.0.1:1"}}
		one.ServersTransport = "absent"
		edit(one)
		return &dynamic.Service{LoadBalancer: one}
	}
	negative := -1
	weighted := func(weight *int) *dynamic.Service {
		return &dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{
			{Name: "absent"}, {Name: "other", Weight: weight},
		}}}
	}
	tests := map[string]struct {
		kind           dynamic.Kind
		valid, invalid any
	}{
		"router": {
			dynamic.KindRouter,
			&dynamic.Router{Rule: "Host(`a`)", Service: "absent", Middlewares: []string{"absent"}},
			&dynamic.Router{Rule: "Hots(`a`)", Service: "absent"},
		},
		"chain": {
			dynamic.KindMiddleware,
			&dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"absent"}}},
			&dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"x@file"}}},
		},
		"load balancer": {
			dynamic.KindService,
			balancer(func(*dynamic.ServersLoadBalancer) {}),
			balancer(func(b *dynamic.ServersLoadBalancer) { b.Servers[0].URL = "127.0.0.1:1" }),
		},
		"weighted": {dynamic.KindService, weighted(nil), weighted(&negative)},
		"transport": {
			dynamic.KindServersTransport, &dynamic.ServersTransport{},
			&dynamic.ServersTransport{RootCAs: []string{"/nowhere/ca.pem"}},
		},
		"tls options": {
			dynamic.KindTLSOptions, &dynamic.TLSOptions{}, &dynamic.TLSOptions{EntryPoints: []string{"absent"}},
		},
		"certificate": {
			dynamic.KindCertificate, nil, &dynamic.CertificateEntry{Name: "x@file", Certificate: dynamic.Certificate{
				CertFile: "/nowhere/cert.pem", KeyFile: "/nowhere/key.pem",
			}},
		},
		"store": {
			dynamic.KindTLSStore, &dynamic.TLSStore{}, &dynamic.TLSStore{DefaultCertificate: &dynamic.Certificate{
				CertFile: "/nowhere/cert.pem", KeyFile: "/nowhere/key.pem",
			}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			entrypoints := []router.EntryPoint{{Name: "web", Default: true}}
			compiler := router.NewCompiler(router.Options{EntryPoints: entrypoints}, router.NewActiveTable(entrypoints))
			ref := dynamic.Ref{Kind: test.kind, Name: "x@file"}
			if test.kind == dynamic.KindTLSStore {
				ref.Name = dynamic.DefaultTLSName
			}
			if test.valid != nil {
				if verdict := compiler.Validate(ref, test.valid); verdict.Status != dynamic.Accepted {
					t.Errorf("valid: %v", verdict)
				}
			}
			if verdict := compiler.Validate(ref, test.invalid); verdict.Status != dynamic.Quarantined || verdict.Reason == "" {
				t.Errorf("invalid: %s %v", verdict.Status, verdict)
			}
		})
	}
}

// TestValidateReadsRulesInTheUsualSyntax wants a rule to be judged in the syntax in which it is compiled.
func TestValidateReadsRulesInTheUsualSyntax(t *testing.T) {
	entrypoints := []router.EntryPoint{{Name: "web", Default: true}}
	compiler := router.NewCompiler(
		router.Options{EntryPoints: entrypoints, RuleSyntax: "v2"}, router.NewActiveTable(entrypoints))
	ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: "x@file"}
	if verdict := compiler.Validate(ref, &dynamic.Router{Rule: "Host(`a`, `b`)", Service: "x"}); verdict.Reason != "" {
		t.Errorf("a rule of v2: %v", verdict)
	}
	verdict := compiler.Validate(ref, &dynamic.Router{Rule: "PathRegexp(`^/a`)", Service: "x"})
	if verdict.Status != dynamic.Quarantined {
		t.Errorf("a rule that is v3 alone: %s", verdict.Status)
	}
}

// TestCheckRuleReadsRulesInTheUsualSyntax wants a rule of v2 to be valid where that is the usual syntax.
func TestCheckRuleReadsRulesInTheUsualSyntax(t *testing.T) {
	definition := &dynamic.Router{Rule: "Host(`a`, `b`)"}
	if v2, v3 := router.CheckRule(definition, "v2"), router.CheckRule(definition, "v3"); v2 != nil || v3 == nil {
		t.Errorf("v2: %v, v3: %v", v2, v3)
	}
}
