package xds_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/static"
)

// TestEnvironmentsComeBack reads environment services of the other Sluice: the options are the same, and the services
// of the subsets lead to the same servers.
func TestEnvironmentsComeBack(t *testing.T) {
	plain, ready, strict := threeSubsets("default"), threeSubsets("any"), threeSubsets("reject")
	ready.Exists, ready.Service = dynamic.ExistsReady, "all@file"
	strict.Strict, strict.Tags = true, []string{"dev.a.x"}
	strict.Aliases = []dynamic.EnvironmentAlias{{Name: "Cookie", Pattern: "env=<tag>;", Placeholder: "<tag>"}}
	s := serve(t, "127.0.0.1:0")
	s.publish(map[string]*dynamic.Service{
		"dev@file": servers("192.0.2.1:80"), "a@file": servers("192.0.2.2:80"), "all@file": servers("192.0.2.3:80"),
		"odd@file":   {Failover: &dynamic.Failover{Service: "a@file", Fallback: "dev@file"}},
		"plain@file": {Environment: plain}, "ready@file": {Environment: ready}, "strict@file": {Environment: strict},
	})
	r := run(t, s.address, func(config *static.XDSProvider) {
		config.Names = []string{"plain@file", "ready@file", "strict@file"}
	})
	got := r.synced()
	for name, want := range map[string]*dynamic.Environment{
		"plain.file": plain, "ready.file": ready, "strict.file": strict,
	} {
		expected := *want
		expected.Subsets = []dynamic.EnvironmentSubset{
			{Tag: "dev", Service: name + "/tag/dev"},
			{Tag: "dev.a", Service: name + "/tag/dev.a"},
			{Tag: "@/x", Service: name + "/tag/%40%2Fx"},
		}
		if expected.Service = ""; want == ready {
			expected.Service = name + "/any"
		}
		if diff := cmp.Diff(&expected, got.service(name).Environment); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		for child, url := range map[string]string{"dev": "http://192.0.2.1:80", "dev.a": "http://192.0.2.2:80"} {
			if list := got.service(name + "/tag/" + child).LoadBalancer.Servers; len(list) != 1 || list[0].URL != url {
				t.Errorf("%s: the servers of %s are %v, want %s", name, child, list, url)
			}
		}
		if odd := got.service(name + "/tag/%40%2Fx").Failover; odd == nil {
			t.Errorf("%s: the subset of a failover is none", name)
		}
		selector, err := environment.New(got.service(name).Environment)
		if err != nil {
			t.Fatal(err)
		}
		if tag := selector.Tag(http.Header{"Cookie": {"env=dev.a.x;"}}); want == strict && tag.Value != "dev.a.x" {
			t.Errorf("the alias reads %+v", tag)
		}
	}
	if list := got.service("ready.file/any").LoadBalancer.Servers; len(list) != 1 || list[0].URL != "http://192.0.2.3:80" {
		t.Errorf("the servers of all environments are %v", list)
	}
}

// threeSubsets returns the options of an environment service.
func threeSubsets(fallback string) *dynamic.Environment {
	config := &dynamic.Environment{}
	config.SetDefaults()
	config.Fallback, config.Default = fallback, "dev"
	config.Subsets = []dynamic.EnvironmentSubset{
		{Tag: "dev", Service: "dev@file"}, {Tag: "dev.a", Service: "a@file"}, {Tag: "@/x", Service: "odd@file"},
	}
	return config
}

// TestDividedServicesAreDiscovered requests a host of a Kubernetes Service that is divided into environments, and
// follows its environments.
func TestDividedServicesAreDiscovered(t *testing.T) {
	const key = "k/shop/web:80"
	divide := func(tags ...string) dynamic.EndpointSet {
		by := &dynamic.Environment{Service: key}
		by.SetDefaults()
		by.Fallback = dynamic.FallbackAny
		for _, tag := range tags {
			by.Subsets = append(by.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: key + "#" + tag})
		}
		return dynamic.EndpointSet{Key: key, Environment: by, Endpoints: []dynamic.Endpoint{
			{Address: netip.MustParseAddrPort("192.0.2.1:8080")}, {Address: netip.MustParseAddrPort("192.0.2.2:8080")},
		}}
	}
	s := serve(t, "127.0.0.1:0")
	s.set(key+"#dev", "192.0.2.1:8080")
	s.set(key+"#dev.a", "192.0.2.2:8080")
	s.publisher.Apply(divide("dev"))
	s.publish(nil)
	r := run(t, s.address, nil)
	r.synced()
	got := r.discovers("web.shop", 80)
	made := got.service("web.shop:80").Environment
	if made == nil || len(made.Subsets) != 1 || made.Subsets[0].Service != "web.shop:80/tag/dev" ||
		made.Fallback != dynamic.FallbackAny || made.Service != "web.shop:80/any" {
		t.Fatalf("the environment service is %+v", made)
	}
	for service, set := range map[string]string{"web.shop:80/tag/dev": key + "#dev", "web.shop:80/any": key} {
		if got := got.service(service).LoadBalancer.EndpointSet; got != "xds/"+set {
			t.Errorf("%s has the endpoint set %q", service, got)
		}
	}
	if set := got.sets["xds/"+key+"#dev"].Endpoints; len(set) != 1 || set[0].Address.String() != "192.0.2.1:8080" {
		t.Errorf("the endpoints of dev are %v", set)
	}

	s.publisher.Apply(divide("dev", "dev.a"))
	r.until("another environment", func(s sent) bool {
		return s.service("web.shop:80/tag/dev.a") != nil && len(s.sets["xds/"+key+"#dev.a"].Endpoints) == 1
	})
	whole := divide()
	whole.Environment = nil
	s.publisher.Apply(whole)
	last := r.until("no environments", func(s sent) bool { return s.service("web.shop:80").LoadBalancer != nil })
	if last.service("web.shop:80/tag/dev") != nil || last.router("web.shop:80") == nil {
		t.Error("the services of environments stay, or the router goes")
	}
}
