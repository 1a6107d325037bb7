package kubernetes

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestBalancingOptions checks how options of manifests and nodes select endpoints.
func TestBalancingOptions(t *testing.T) {
	c := prepare(t, "sluice.dev", "traefik.io")
	c.Apply(namespace("shop"))
	c.AddNode("node-west", "west")
	for _, one := range []string{"1", "2", "3"} {
		listen(t, "198.18.0."+one+":8080", one, nil)
	}
	kubeconfig := "KUBECONFIG=" + c.AccountKubeconfig(account)
	start := func(environ ...string) *gate {
		s := harness.Start(t, harness.Setup{Static: static, Env: append(environ, kubeconfig, "POD_NAMESPACE=sluice")})
		return &gate{Sluice: s, t: t, web: harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)}
	}
	west, nowhere, east := start("NODE_NAME=node-west"), start("NODE_NAME=node-1"), start("SLUICE_ZONE=east",
		"NODE_NAME=node-west")
	t.Run("zones", func(t *testing.T) { chooseZones(c.For(t), west.on(t), nowhere.on(t), east.on(t)) })
	t.Run("options of sluice.dev", func(t *testing.T) { useOwnOptions(c.For(t), west.on(t)) })
	t.Run("annotations of sluice.dev", func(t *testing.T) { useOwnAnnotations(c.For(t), west.on(t)) })
}

// chooseZones compares an instance in the zone west by its node, one whose node has no zone, and one in the zone east
// by option.
func chooseZones(c *cluster.Cluster, west, nowhere, east *gate) {
	in := func(zone, address string) string {
		return "{addresses: ['" + address + "'], conditions: {}, zone: " + zone + "}"
	}
	c.Apply(plain("zones", "{ports: [{port: 80}]}"), slice("zones", "a", "IPv4", in("west", "198.18.0.1"),
		in("east", "198.18.0.2")),
		route("traefik.io", "shop/hints", "hints.test", "[{name: zones, port: 80}]"),
		route("sluice.dev", "shop/local", "local.test", "[{name: zones, port: 80, zoneAware: true}]"),
		route("sluice.dev", "shop/all", "all.test", "[{name: zones, port: 80, zoneAware: false}]"),
	)
	both := map[string]int{"200 1": 2, "200 2": 2}
	west.shares("local.test/", map[string]int{"200 1": 4})
	east.shares("local.test/", map[string]int{"200 2": 4})
	nowhere.shares("local.test/", both)
	west.shares("hints.test/", both) // There are none.
	west.shares("all.test/", both)
	until(nowhere.t, func() bool {
		return strings.Contains(nowhere.Log.String(), "Node node-1 has no label topology.kubernetes.io/zone")
	},
		func() string { return "there is no reason for the missing zone" + nowhere.tail() })
}

// useOwnOptions writes options that only our group has.
func useOwnOptions(c *cluster.Cluster, s *gate) {
	const options = "strategy: hash, hash: {source: query, name: user}, slowStart: 1s, zoneAware: false, " +
		"drainTimeout: 30, " +
		"panicThreshold: 10, outlierDetection: {status: [5xx], baseEjectionTime: 1s}, retry: {attempts: 1, " +
		"perTryTimeout: 10s}, " +
		"limits: {maxConnections: 100, pendingTimeout: 1s}, healthCheck: {path: /, interval: 1s, rise: 1, fall: 5, jitter: 0}"
	c.Apply(plain("own", "{ports: [{port: 80}]}"),
		slice("own", "a", "IPv4", endpoint("198.18.0.1", "", ""), endpoint("198.18.0.2", "", ""), endpoint("198.18.0.3", "",
			"")),
		route("sluice.dev", "shop/own", "own.test", "[{name: own, port: 80, "+options+"}]"))
	routes, _, _ := unstructured.NestedSlice(c.Get("IngressRoute.sluice.dev", "shop/own").Object, "spec", "routes")
	service, _ := routes[0].(map[string]any)["services"].([]any)[0].(map[string]any)
	if key, _, _ := unstructured.NestedString(service, "hash", "name"); key != "user" {
		s.t.Errorf("the API server has kept of the options %v", service)
	}
	until(s.t, func() bool {
		return strings.HasPrefix(s.ask("own.test/"), "200 ")
	}, func() string { return "no answer" + s.tail() })
	answers := map[string]bool{}
	for _, user := range strings.Split("abcdefghijklmnop", "") {
		first := s.ask("own.test/?user=" + user)
		for range 3 {
			s.expect("own.test/?user="+user, first)
		}
		answers[first] = true
	}
	if len(answers) != 3 {
		s.t.Errorf("16 users are answered by %v, want all three", answers)
	}
	if _, err := c.TryApply(route("traefik.io", "shop/foreign", "foreign.test",
		"[{name: own, port: 80, retry: {attempts: 1}}]")); err == nil {
		s.t.Error("the API server takes an option of ours in a foreign group")
	}
	if _, err := c.TryApply(route("sluice.dev", "shop/wrong", "wrong.test",
		"[{name: own, port: 80, slowStart: soon}]")); err == nil {
		s.t.Error("the API server takes a duration that is none")
	}
	c.Apply(route("traefik.io", "shop/typo", "typo.test", "[{name: own, port: 80, strategy: peakewm}]"))
	s.becomes("typo.test/", "503")
	s.reports("shop-typo-", "peakewma")
}

// useOwnAnnotations writes the options of a Service that an Ingress leads to.
func useOwnAnnotations(c *cluster.Cluster, s *gate) {
	service := func(strategy string) string {
		return strings.Replace(plain("annotated", "{ports: [{port: 80}]}"), "namespace: shop",
			"namespace: shop, annotations: {sluice.dev/service.strategy: "+strategy+"}", 1)
	}
	c.Apply(service("hash"), slice("annotated", "a", "IPv4", endpoint("198.18.0.1", "", ""), endpoint("198.18.0.2", "",
		"")), `
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: annotated, namespace: shop}
spec:
  rules:
    - host: annotated.test
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: annotated, port: {number: 80}}}}]}
`)
	var got map[string]int
	until(s.t, func() bool { got = s.several("annotated.test/", 8); return got["200 1"] == 8 || got["200 2"] == 8 },
		func() string { return "one client is answered by several endpoints" + s.tail() })
	c.Apply(service("wrr"))
	s.shares("annotated.test/", map[string]int{"200 1": 2, "200 2": 2})
	c.Apply(service("hsah"))
	s.reports("shop-annotated-80", "retained", "hash")
	s.shares("annotated.test/", map[string]int{"200 1": 2, "200 2": 2})
}
