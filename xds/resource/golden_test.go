package resource_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds/resource"
)

var update = flag.Bool("update", false, "write the golden files")

const servers = `{loadBalancer: {servers: [{url: "http://192.0.2.1:80"}, {url: "http://192.0.2.2:80"}]}}`

// published are services that are published as svc@file, each with a golden file.
var published = map[string]string{
	"round-robin": `svc: ` + servers,
	"set-of-dns":  `svc: {loadBalancer: {servers: [{url: "http://a.example"}]}}`,
	"least-request": `
svc: {loadBalancer: {strategy: peakewma, panicThreshold: 40, servers: [{url: "h2c://192.0.2.1:80"}]}}`,
	"hrw":         `svc: {loadBalancer: {strategy: hrw, servers: [{url: "http://a.example", weight: 3}]}}`,
	"hash-header": `svc: {loadBalancer: {strategy: hash, hash: {source: header, name: X-User}, servers: []}}`,
	"hash-cookie": `
svc: {loadBalancer: {strategy: hash, hash: {source: cookie, name: user, boundedLoad: 0}, servers: []}}`,
	"hash-client": `svc: {loadBalancer: {strategy: hash, hash: {source: clientIP, boundedLoad: 150}, servers: []}}`,
	"sticky": `
svc:
  loadBalancer:
    sticky: {cookie: {name: at, secure: true, httpOnly: true, sameSite: strict, domain: example.org, maxAge: 60}}
    servers: [{url: "http://192.0.2.1:80"}]`,
	"sticky-hash": `
svc:
  loadBalancer:
    strategy: hash
    hash: {source: header, name: x-user}
    sticky: {cookie: {maxAge: -1}}
    servers: [{url: "http://192.0.2.1:80"}]`,
	"limits": `
svc:
  loadBalancer:
    limits: {maxPoolConnections: 7, maxConnections: 2}
    outlierDetection: {consecutiveFailures: 3, baseEjectionTime: 4s, maxEjectionTime: 40s, maxEjectedPercent: 20}
    servers: [{url: "http://192.0.2.1:80"}]`,
	"left-out": `
svc:
  loadBalancer:
    outlierDetection: {consecutiveFailures: 0}
    healthCheck: {path: /healthy}
    slowStart: 3s
    zoneAware: true
    drainTimeout: 3s
    retry: {attempts: 7}
    limits: {maxConnections: 2}
    serversTransport: slow
    servers: [{url: "http://192.0.2.1:80/ignored"}, {url: "http://192.0.2.1:0"}]`,
	"weighted": `
svc:
  weighted:
    healthCheck: {}
    services: [{name: a, weight: 1}, {name: b@file, weight: 2}, {name: unknown, weight: 0}, {name: set@kubernetes}]
a: {weighted: {services: [{name: b, weight: 1}, {name: c, weight: 6}]}}
b: ` + servers + `
c: {loadBalancer: {strategy: hrw, servers: [{url: "http://a.example"}]}}`,
	"weighted-one": "svc: {weighted: {services: [{name: a}, {name: a}]}}\na: " + servers,
	"failover": `
svc: {failover: {service: a, fallback: b, errors: {status: []}}}
a: {failover: {service: c, fallback: d}}
b: {failover: {service: d, fallback: set@kubernetes}}
c: ` + servers + `
d: {loadBalancer: {strategy: p2c, servers: [{url: "http://a.example"}]}}`,
	"failover-least": `
svc: {failover: {service: a, fallback: b}}
a: {loadBalancer: {strategy: p2c, servers: [{url: "http://a.example"}]}}
b: {loadBalancer: {servers: [{url: "http://b.example"}]}}`,
	"failover-hash": `
svc: {failover: {service: a, fallback: b}}
a: {highestRandomWeight: {services: [{name: b}]}}
b: {loadBalancer: {servers: [{url: "http://b.example"}]}}`,
	"weighted-failover": `
svc: {weighted: {services: [{name: a}, {name: b}]}}
a: {failover: {service: b, fallback: c}}
b: ` + servers + `
c: {loadBalancer: {servers: [{url: "http://c.example"}]}}`,
	"mirroring": `
svc:
  mirroring: {service: main, maxBodySize: 10, mirrors: [{name: b, percent: 30}, {name: none, percent: 0}]}
main: {mirroring: {service: a, mirrors: [{name: c, percent: 100}]}}
a: {weighted: {services: [{name: b}, {name: d, weight: 2}]}}
b: ` + servers + `
c: {loadBalancer: {servers: [{url: "http://c.example"}]}}
d: {loadBalancer: {servers: [{url: "http://d.example"}]}}`,
	"highest-random-weight": `
svc: {highestRandomWeight: {services: [{name: a, weight: 2}, {name: b}, {name: c, weight: 0}, {name: d}]}}
a: {loadBalancer: {servers: [{url: "http://192.0.2.1", weight: 1}, {url: "http://a.example", weight: 2}]}}
b: {loadBalancer: {servers: [{url: "http://192.0.2.2", weight: 5}, {url: "http://192.0.2.3", weight: 0}]}}
d: {loadBalancer: {servers: []}}`,
	"environment": `
svc:
  environment:
    header: X-Env
    aliases: [{name: X-Branch}, {name: baggage, pattern: "(?:.*,)? *virtual-env=(@)(?:[;,].*)?"}]
    default: dev
    subsets: [{tag: dev, service: a}, {tag: dev.proj1, service: b}, {tag: dev.proj1.feature1, service: set@kubernetes}]
a: ` + servers + `
b: {weighted: {services: [{name: a}, {name: c, weight: 2}]}}
c: {loadBalancer: {strategy: hrw, servers: [{url: "http://c.example"}]}}`,
	"environment-strict": `
svc:
  environment:
    strict: true
    tags: [dev.proj2, dev.a-b, test, dev]
    splitter: "-"
    default: dev
    fallback: reject
    aliases: [{name: x-env, pattern: "env=(@);"}]
    subsets: [{tag: dev, service: a}, {tag: dev.a, service: b}]
a: ` + servers + `
b: {mirroring: {service: a, mirrors: [{name: c, percent: 100}]}}
c: {loadBalancer: {strategy: hrw, servers: [{url: "http://c.example"}]}}`,
	"environment-any": `
svc: {environment: {fallback: any, service: all, default: none, subsets: [{tag: dev, service: a}]}}
a: ` + servers + `
all: {loadBalancer: {strategy: hrw, servers: [{url: "http://c.example"}]}}`,
	"environment-ready": `
svc:
  environment:
    exists: ready
    default: dev
    fallback: any
    service: all
    subsets: [{tag: dev, service: a}, {tag: dev.b, service: b}, {tag: dev.b.c, service: c}, {tag: test, service: a}]
a: ` + servers + `
b: {failover: {service: c, fallback: all}}
c: {loadBalancer: {servers: [{url: "http://c.example"}]}}
all: {loadBalancer: {strategy: hrw, servers: [{url: "http://a.example"}]}}`,
}

// goldenBundle is the form of a golden file: the name of a resource's list to the resources.
type goldenBundle struct {
	Listeners, Routes, Clusters []json.RawMessage
	Assignments                 []resource.Mixed
	Depends                     []string
}

// text returns a message as JSON. The output of protojson itself differs from build to build.
func text(t *testing.T, message proto.Message) json.RawMessage {
	t.Helper()
	loose, err := protojson.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, loose); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func golden(t *testing.T, name string, bundle resource.Bundle, depends []string) {
	t.Helper()
	form := goldenBundle{Assignments: bundle.Assignments, Depends: depends}
	for _, one := range bundle.Listeners {
		form.Listeners = append(form.Listeners, text(t, one))
	}
	for _, one := range bundle.Routes {
		form.Routes = append(form.Routes, text(t, one))
	}
	for _, one := range bundle.Clusters {
		form.Clusters = append(form.Clusters, text(t, one))
	}
	got, err := json.MarshalIndent(form, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no golden file %s: run with -update", file)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestServicesArePublished(t *testing.T) {
	for name, config := range published {
		t.Run(name, func(t *testing.T) {
			bundle, depends, err := parse(t, config).translate("svc@file")
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range resources(bundle) {
				valid(t, message)
			}
			golden(t, name, bundle, depends)
			again, _, _ := parse(t, config).translate("svc@file")
			if wire(t, resources(bundle)...) != wire(t, resources(again)...) {
				t.Error("another translation gives other bytes")
			}
		})
	}
}

func TestSetsArePublished(t *testing.T) {
	bundle := resource.OfSet("east/shop/cart:80")
	for _, message := range resources(bundle) {
		valid(t, message)
	}
	golden(t, "set", bundle, nil)
	for _, key := range []string{"dns/example.org:80", "east/shop"} {
		if diff := cmp.Diff(resource.Bundle{}, resource.OfSet(key)); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
		if divided, err := resource.OfDividedSet(key, divisionOf(key, "dev")); err != nil || len(divided.Listeners) > 0 {
			t.Errorf("%s: %v, %v", key, divided, err)
		}
	}
}

// divisionOf returns how an endpoint set is divided into environments.
func divisionOf(key string, tags ...string) *dynamic.Environment {
	by := &dynamic.Environment{Default: "dev", Service: key}
	by.SetDefaults()
	for _, tag := range tags {
		by.Subsets = append(by.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: key + "#" + tag})
	}
	return by
}

// divisions are endpoint sets of Kubernetes Services that are divided into environments, each with a golden file.
func divisions() map[string]*dynamic.Environment {
	const key = "east/shop/cart:80"
	simple, all, ready := divisionOf(key, "dev", "dev.a"), divisionOf(key, "dev.a"), divisionOf(key, "dev", "dev.a")
	all.Fallback = dynamic.FallbackAny
	ready.Exists = dynamic.ExistsReady
	return map[string]*dynamic.Environment{"set-divided": simple, "set-divided-any": all, "set-divided-ready": ready}
}

func TestDividedSetsArePublished(t *testing.T) {
	for name, by := range divisions() {
		bundle, err := resource.OfDividedSet("east/shop/cart:80", by)
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range resources(bundle) {
			valid(t, message)
		}
		golden(t, name, bundle, nil)
		plain := resource.OfSet("east/shop/cart:80")
		if diff := cmp.Diff(plain.Listeners, bundle.Listeners, protocmp.Transform()); diff != "" {
			t.Errorf("%s: the listeners (-whole +divided):\n%s", name, diff)
		}
	}
}
