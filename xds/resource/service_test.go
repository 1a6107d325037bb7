package resource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds/resource"
)

func TestServicesAreNotPublished(t *testing.T) {
	const leaf = "\na: " + servers
	for _, test := range []struct{ name, config, reason, depends string }{
		{"TLS", `svc: {loadBalancer: {servers: [{url: "https://a.example"}]}}`, "its servers require TLS", ""},
		{
			"schemes", `svc: {loadBalancer: {servers: [{url: "http://a.example"}, {url: "h2c://b.example"}]}}`,
			"the schemes http and h2c", "",
		},
		{
			"path", `svc: {loadBalancer: {servers: [{url: "http://a.example/x", preservePath: true}]}}`,
			"servers[0] sets preservePath", "",
		},
		{"host", `svc: {loadBalancer: {passHostHeader: false, servers: []}}`, "passHostHeader", ""},
		{"middlewares", `svc: {middlewares: [auth], loadBalancer: {servers: []}}`, "bypass its middlewares", ""},
		{
			"middlewares below", "svc: {weighted: {services: [{name: a}]}}\na: {middlewares: [m], loadBalancer: {servers: []}}",
			`service "a@file": clients would bypass its middlewares`, "a@file",
		},
		{"query", `svc: {loadBalancer: {strategy: hash, hash: {source: query, name: q}, servers: []}}`, "the source query", ""},
		{"path hash", `svc: {loadBalancer: {strategy: hash, hash: {source: path}, servers: []}}`, "the source path", ""},
		{"cookie", `svc: {loadBalancer: {sticky: {cookie: {sameSite: odd}}, servers: []}}`, "sameSite", ""},
		{"strategy", `svc: {loadBalancer: {strategy: hrw, hash: {}, servers: []}}`, "the options of hash are set", ""},
		{"unknown", `svc: {weighted: {services: [{name: x}]}}`, `service "x@file" is unknown or disabled`, "x@file"},
		{"no name", `svc: {weighted: {services: [{weight: 1}]}}`, "names no service", ""},
		{"no services", `svc: {weighted: {services: []}}`, "none of its services has a weight", ""},
		{"weights", "svc: {weighted: {services: [{name: a, weight: 0}]}}", "none of its services has a weight", ""},
		{"nested weights", `
svc: {weighted: {services: [{name: b}]}}
b: {weighted: {services: [{name: x, weight: 0}]}}`, `service "b@file": none of its services`, "b@file"},
		{"negative", "svc: {weighted: {services: [{name: a, weight: -1}]}}" + leaf, "the weight -1 is negative", ""},
		{"sticky weighted", `svc: {weighted: {sticky: {cookie: {}}, services: [{name: x}]}}`, "its cookie keeps", ""},
		{
			"loop", "svc: {weighted: {services: [{name: b}]}}\nb: {failover: {service: b2, fallback: svc}}\nb2: " + servers,
			"refers to itself: svc@file -> b@file -> svc@file", "b2@file b@file",
		},
		{
			"mirrored branch", `
svc: {weighted: {services: [{name: b}]}}
b: {mirroring: {service: a, mirrors: [{name: a, percent: 1}]}}` + leaf,
			`service "b@file" is mirrored`, "a@file b@file",
		},
		{
			"two keys", `
svc: {weighted: {services: [{name: b}, {name: c}]}}
b: {loadBalancer: {strategy: hrw, servers: []}}
c: {loadBalancer: {strategy: hash, hash: {source: header, name: x}, servers: []}}`,
			"by different keys", "b@file c@file",
		},
		{
			"failover of a split", `
svc: {failover: {service: a, fallback: b}}
b: {weighted: {services: [{name: a}, {name: set@kubernetes}]}}` + leaf,
			`service "b@file" is not a single cluster`, "a@file b@file set@kubernetes",
		},
		{
			"status", "svc: {failover: {service: a, fallback: a, errors: {status: [5xx]}}}" + leaf,
			"answers for status codes", "",
		},
		{
			"bodies", "svc: {mirroring: {service: a, mirrorBody: false, mirrors: []}}" + leaf,
			"mirrorBody", "",
		},
		{
			"percent", "svc: {mirroring: {service: a, mirrors: [{name: a, percent: 101}]}}" + leaf,
			"percent 101", "a@file",
		},
		{"ring of services", `
svc: {highestRandomWeight: {services: [{name: b}]}}
b: {failover: {service: a, fallback: a}}` + leaf, `service "b@file": it is no loadBalancer`, "b@file"},
		{
			"ring of schemes", `
svc: {highestRandomWeight: {services: [{name: a}, {name: set@kubernetes}]}}` + leaf,
			"the schemes http and h2c", "a@file set@kubernetes",
		},
		{
			"environment of nothing", `svc: {environment: {subsets: []}}`, "environment.subsets is empty", "",
		},
		{
			"environment without a tag", "svc: {environment: {subsets: [{service: a}]}}" + leaf,
			"environment.subsets[0].tag is empty", "",
		},
		{
			"environment below a split", `
svc: {weighted: {services: [{name: b}]}}
b: {environment: {subsets: [{tag: dev, service: a}]}}` + leaf,
			`service "b@file": it is an environment service`, "a@file b@file",
		},
		{
			"environment below a failover", `
svc: {failover: {service: a, fallback: b}}
b: {environment: {subsets: [{tag: dev, service: a}]}}` + leaf,
			`service "b@file": it is an environment service`, "a@file b@file",
		},
		{
			"environment below a mirroring", `
svc: {mirroring: {service: b, mirrors: []}}
b: {environment: {subsets: [{tag: dev, service: a}]}}` + leaf,
			`service "b@file": it is an environment service`, "a@file b@file",
		},
		{
			"environment of environments", `
svc: {environment: {subsets: [{tag: dev, service: b}]}}
b: {environment: {subsets: [{tag: dev, service: a}]}}` + leaf,
			`service "b@file": it is an environment service`, "a@file b@file",
		},
		{
			"ready splits", `
svc: {environment: {exists: ready, subsets: [{tag: dev, service: b}]}}
b: {weighted: {services: [{name: a}, {name: set@kubernetes}]}}` + leaf,
			`service "b@file" is not a single cluster`, "a@file b@file set@kubernetes",
		},
		{
			"a split of all environments", `
svc: {environment: {fallback: any, service: b, subsets: [{tag: dev, service: a}]}}
b: {weighted: {services: [{name: a}, {name: set@kubernetes}]}}` + leaf,
			`service "b@file" is not a single cluster`, "a@file b@file set@kubernetes",
		},
		{
			"ready keys", `
svc: {environment: {exists: ready, default: dev, subsets: [{tag: dev, service: b}, {tag: dev.a, service: c}]}}
b: {loadBalancer: {strategy: hrw, servers: []}}
c: {loadBalancer: {strategy: hash, hash: {source: header, name: x}, servers: []}}`,
			"by different keys", "b@file c@file",
		},
		{
			"binary header", "svc: {environment: {header: x-env-bin, subsets: [{tag: dev, service: a}]}}" + leaf,
			`do not route by the header "x-env-bin"`, "",
		},
		{
			"header of gRPC", "svc: {environment: {aliases: [{name: User-Agent}], subsets: [{tag: dev, service: a}]}}" + leaf,
			`do not route by the header "User-Agent"`, "",
		},
		{
			"ring of itself", `svc: {highestRandomWeight: {services: [{name: svc}]}}`,
			"refers to itself: svc@file -> svc@file", "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			bundle, depends, err := parse(t, test.config).translate("svc@file")
			if err == nil || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("the error is %v, expected %q", err, test.reason)
			}
			if got := strings.Join(depends, " "); got != test.depends {
				t.Errorf("it depends on %q, expected %q", got, test.depends)
			}
			if diff := cmp.Diff(resource.Bundle{}, bundle); diff != "" {
				t.Errorf("a bundle beside an error:\n%s", diff)
			}
		})
	}
}

// TestSharedResourcesAreEqual checks that a service has the same resources alone and below another one, as the
// resources of all services have one name space.
func TestSharedResourcesAreEqual(t *testing.T) {
	for name, config := range published {
		all := parse(t, config)
		whole, depends, err := all.translate("svc@file")
		if err != nil {
			t.Fatal(err)
		}
		for _, depend := range depends {
			part, _, err := all.translate(depend)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, own := range part.Clusters {
				for _, used := range whole.Clusters {
					if diff := cmp.Diff(own, used, protocmp.Transform()); used.GetName() == own.GetName() && diff != "" {
						t.Errorf("%s: %s (-alone +below svc):\n%s", name, own.GetName(), diff)
					}
				}
			}
		}
		used := map[string]bool{}
		for _, one := range whole.Clusters {
			used[one.GetEdsClusterConfig().GetServiceName()] = true
		}
		for _, one := range whole.Assignments {
			if !used[one.Name] {
				t.Errorf("%s: no cluster uses the assignment %s", name, one.Name)
			}
		}
	}
}

func TestWrongValues(t *testing.T) {
	pool := &dynamic.ServersLoadBalancer{}
	odd := &dynamic.ServersLoadBalancer{EndpointSet: "east/\xff/cart:80"}
	for _, test := range []struct {
		name    string
		service dynamic.Service
		reason  string
	}{
		{"", dynamic.Service{LoadBalancer: pool}, `its name "" is not text`},
		{"a\xff@file", dynamic.Service{LoadBalancer: pool}, "is not text"},
		{"a\x00@file", dynamic.Service{LoadBalancer: pool}, "is not text"},
		{"set@file", dynamic.Service{LoadBalancer: odd}, "is not text"},
		{"none@file", dynamic.Service{}, "it has 0 kinds"},
		{"two@file", dynamic.Service{LoadBalancer: pool, Failover: &dynamic.Failover{}}, "it has 2 kinds"},
	} {
		_, _, err := resource.OfService(test.name, &test.service, services{}.lookup)
		if err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%q: the error is %v, expected %q", test.name, err, test.reason)
		}
	}
}

func FuzzServers(f *testing.F) {
	f.Add("svc@file", "http://a.example:80/x", "h2c://192.0.2.1", "X-User", uint8(0), 3)
	f.Add("a", "http://[2001:db8::1]", "http://a", "", uint8(4), -3)
	strategies := []string{"", "wrr", "p2c", "hrw", "hash", "leasttime", "odd"}
	f.Fuzz(func(t *testing.T, name, first, second, header string, strategy uint8, weight int) {
		config := &dynamic.ServersLoadBalancer{
			Strategy: strategies[int(strategy)%len(strategies)],
			Servers:  []dynamic.Server{{URL: first, Weight: &weight}, {URL: second}},
		}
		if config.Strategy == dynamic.StrategyHash {
			config.Hash = &dynamic.HashStrategy{Source: dynamic.HashHeader, Name: header}
		}
		if strategy > 200 {
			config.Sticky = &dynamic.Sticky{Cookie: &dynamic.Cookie{Name: header, MaxAge: weight, Domain: header}}
		}
		bundle, _, err := resource.OfService(name, &dynamic.Service{LoadBalancer: config}, nil)
		if err != nil {
			return
		}
		for _, message := range resources(bundle) {
			valid(t, message)
			wire(t, message)
		}
		for _, one := range bundle.Assignments {
			wire(t, one.Assignment(func(string) (dynamic.EndpointSet, bool) { return dynamic.EndpointSet{}, false }))
		}
	})
}

// TestRoutesAreBounded wants no route table that is larger than a limit.
func TestRoutesAreBounded(t *testing.T) {
	config := &dynamic.Environment{Strict: true, Subsets: []dynamic.EnvironmentSubset{{Tag: "dev", Service: "a@file"}}}
	config.SetDefaults()
	for i := range 9996 {
		config.Tags = append(config.Tags, fmt.Sprintf("dev.%d", i))
	}
	all := services{"svc@file": {Environment: config}, "a@file": leaf()}
	bundle, _, err := all.translate("svc@file")
	if err != nil {
		t.Fatal(err)
	}
	if count := len(bundle.Routes[0].GetVirtualHosts()[0].GetRoutes()); count != 10_000 {
		t.Errorf("%d routes", count)
	}
	config.Tags = append(config.Tags, "dev.x")
	if _, _, err := all.translate("svc@file"); err == nil || !strings.Contains(err.Error(), "make 10001 routes") {
		t.Errorf("one more: %v", err)
	}
	config.Tags = []string{"a\xff"}
	if _, _, err := all.translate("svc@file"); err == nil || !strings.Contains(err.Error(), "is not text") {
		t.Errorf("a tag that is not text: %v", err)
	}
}
