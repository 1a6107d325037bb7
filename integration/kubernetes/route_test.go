package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// several requests host/path a number of times and counts the results.
func (g *gate) several(where string, times int) map[string]int {
	g.t.Helper()
	answers := map[string]int{}
	for range times {
		answers[g.ask(where)]++
	}
	return answers
}

// shares repeats a number of requests until the results are distributed as wanted.
func (g *gate) shares(where string, want map[string]int) {
	g.t.Helper()
	var times int
	for _, count := range want {
		times += count
	}
	var got map[string]int
	until(g.t, func() bool { got = g.several(where, times); return maps.Equal(got, want) }, func() string {
		return where + " is answered by " + strings.Join(slices.Sorted(maps.Keys(got)), ", ") + g.tail()
	})
}

// TestRoutes routes requests to services in all ways of an IngressRoute.
func TestRoutes(t *testing.T) {
	c := prepare(t)
	c.Apply(namespace("shop"), namespace("blog"), app("shop/a"), app("shop/b"), app("shop/c"), app("blog/a"))
	s := open(t, c, static)
	tests := map[string]func(*cluster.Cluster, *gate){
		"to weighted services":                     leadByWeight,
		"to TraefikServices within each other":     leadThroughTraefikServices,
		"through services of services":             leadThroughKinds,
		"of the same rule in two objects":          leadBySameRule,
		"by rules of all sorts, until they change": leadByRules,
		"beside Ingresses":                         leadBesideIngresses,
		"of some namespaces, labels and classes":   readSome,
		"that lead nowhere yet":                    leadNowhere,
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](c.For(t), s.on(t)) })
	}
}

func leadByWeight(c *cluster.Cluster, s *gate) {
	c.Apply(route("traefik.io", "shop/weighted", "weighted.test",
		"[{name: a, port: 80, weight: 3}, {name: b, port: http}]"))
	s.shares("weighted.test/", map[string]int{"200 shop/a": 3, "200 shop/b": 1})
	c.Apply(route("traefik.io", "shop/weighted", "weighted.test",
		"[{name: a, port: 80, weight: 0}, {name: b, port: http}]"))
	s.shares("weighted.test/", map[string]int{"200 shop/b": 4})
	c.Apply(route("traefik.io", "shop/weighted", "weighted.test",
		"[{name: a, port: 80}, {name: b, port: http}, {name: c, port: 80, weight: 2}]"))
	s.shares("weighted.test/", map[string]int{"200 shop/a": 1, "200 shop/b": 1, "200 shop/c": 2})
}

// traefikService is a TraefikService of traefik.io in the namespace shop.
func traefikService(name, spec string) string {
	return "---\napiVersion: traefik.io/v1alpha1\nkind: TraefikService\nmetadata: {name: " + name +
		", namespace: shop}\nspec: " + spec + "\n"
}

func leadThroughTraefikServices(c *cluster.Cluster, s *gate) {
	c.Apply(
		route("traefik.io", "shop/nested", "nested.test", "[{name: outer, kind: TraefikService}]"),
		route("sluice.dev", "shop/nested-too", "nested-too.test",
			"[{name: outer, kind: TraefikService}, {name: c, port: 80, weight: 4}]"),
	)
	s.reports("router", "shop-nested-", "shop-outer@kubernetescrd")
	s.expect("nested.test/", "503")
	c.Apply(
		traefikService("outer",
			"{weighted: {services: [{name: inner, kind: TraefikService, weight: 3}, {name: c, port: 80}]}}"),
		traefikService("inner", "{weighted: {services: [{name: a, port: 80, weight: 2}, {name: b, port: 80}]}}"),
	)
	s.shares("nested.test/", map[string]int{"200 shop/a": 8, "200 shop/b": 4, "200 shop/c": 4})
	s.shares("nested-too.test/", map[string]int{"200 shop/a": 2, "200 shop/b": 1, "200 shop/c": 17})
	s.settles("shop-outer@kubernetescrd")
	c.Apply(traefikService("inner", "{weighted: {services: [{name: b, port: 80}]}}"))
	s.shares("nested.test/", map[string]int{"200 shop/b": 3, "200 shop/c": 1})
	c.Apply(traefikService("inner", "{weighted: {services: [{name: outer, kind: TraefikService}]}}"))
	s.becomes("nested.test/", "503")
	s.reports("shop-outer@kubernetescrd", "shop-inner@kubernetescrd")
}

// leadThroughKinds leads to services of services of each kind but weighted.
func leadThroughKinds(c *cluster.Cluster, s *gate) {
	c.Apply(plain("nobody", "{ports: [{port: 80}]}"))
	for name, spec := range map[string]string{
		"mirrored": "{mirroring: {name: a, port: 80, mirrors: [{name: b, port: 80, percent: 50}]}}",
		"failing":  "{failover: {service: {name: a, port: 80}, fallback: {name: b, port: 80}, errors: {status: ['500-504']}}}",
		"empty":    "{failover: {service: {name: nobody, port: 80}, fallback: {name: b, port: 80}}}",
		"hashed": "{highestRandomWeight: {services: [{name: a, port: 80}, {name: b, port: 80}, {name: c, port: 80, " +
			"weight: 0}]}}",
	} {
		c.Apply(traefikService(name, spec), route("traefik.io", "shop/to-"+name, name+".test", "[{name: "+name+
			", kind: TraefikService}]"))
	}
	s.shares("mirrored.test/", map[string]int{"200 shop/a": 4})
	s.becomes("failing.test/", "200 shop/a")
	s.expect("failing.test/?status=404", "404 shop/a")
	s.expect("failing.test/?status=503", "503 shop/b")
	s.becomes("empty.test/", "200 shop/b")
	var got map[string]int
	until(s.t, func() bool {
		got = s.several("hashed.test/", 4)
		return got["200 shop/a"] == 4 || got["200 shop/b"] == 4
	},
		func() string { return fmt.Sprintf("one client is answered by %v%s", got, s.tail()) })
}

// leadBySameRule has two objects declare the same rule: one of them answers, and the other one when it is gone.
func leadBySameRule(c *cluster.Cluster, s *gate) {
	c.Apply(
		route("traefik.io", "shop/first", "twice.test", "[{name: a, port: 80}]"),
		route("traefik.io", "blog/second", "twice.test", "[{name: a, port: 80}]"),
	)
	until(s.t, func() bool { return strings.HasPrefix(s.ask("twice.test/"), "200") }, s.tail)
	c.DeleteNow("IngressRoute.traefik.io", "blog/second")
	s.becomes("twice.test/", "200 shop/a")
	c.Apply(route("traefik.io", "blog/second", "twice.test", "[{name: a, port: 80}]"))
	c.DeleteNow("IngressRoute.traefik.io", "shop/first")
	s.becomes("twice.test/", "200 blog/a")
}

const rules = `
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: rules, namespace: shop}
spec:
  entryPoints: [web]
  routes:
  - {match: Host("rules.test"), services: [{name: a, port: 80}]}
  - {match: Host("rules.test") && PathPrefix("/b"), kind: Rule, services: [{name: b, port: 80}]}
  - {match: Host("rules.test") && PathPrefix("/b/c"), kind: Rule, priority: %, services: [{name: c, port: 80}]}
`

func leadByRules(c *cluster.Cluster, s *gate) {
	c.Apply(strings.Replace(rules, "%", "1000", 1))
	s.becomes("rules.test/b/c", "200 shop/c")
	s.expect("rules.test/b", "200 shop/b")
	s.expect("rules.test/", "200 shop/a")
	c.Apply(strings.Replace(rules, "%", "1", 1))
	s.becomes("rules.test/b/c", "200 shop/b")
	c.Apply(strings.NewReplacer("%", "1", "rules.test", "moved.test").Replace(rules))
	s.becomes("moved.test/b", "200 shop/b")
	s.becomes("rules.test/b", "404")
	c.DeleteNow("IngressRoute.traefik.io", "shop/rules")
	s.becomes("moved.test/b", "404")
}

func leadBesideIngresses(c *cluster.Cluster, s *gate) {
	c.Apply(route("traefik.io", "shop/beside", "beside.test", "[{name: a, port: 80}]"), ingressOf("shop/beside", "",
		host("beside.test", at("Prefix", "/b", to("b")))))
	s.becomes("beside.test/", "200 shop/a")
	s.becomes("beside.test/b", "200 shop/b")
	c.Apply(middleware("shop/strip", "{stripPrefix: {prefixes: [/b]}}"))
	c.Apply(ingressOf("shop/beside", "traefik.ingress.kubernetes.io/router.middlewares: shop-strip@kubernetescrd",
		host("beside.test", at("Prefix", "/b", to("b")))))
	s.becomes("beside.test/b?status=200", "200 shop/b")
	s.settles("strip")
	c.DeleteNow("Middleware.traefik.io", "shop/strip")
	s.becomes("beside.test/b", "503")
	s.expect("beside.test/", "200 shop/a")
}

// leadNowhere declares routes that cannot be built: they keep their places, and work as soon as what they lack is
// there.
func leadNowhere(c *cluster.Cluster, s *gate) {
	c.Apply(
		route("traefik.io", "shop/early", "early.test", "[{name: late, port: 80}]"),
		route("traefik.io", "shop/port", "port.test", "[{name: a, port: 81}]"),
		strings.Replace(route("traefik.io", "shop/rule", "rule.test", "[{name: a, port: 80}]"), "Host(", "Hots(", 1),
	)
	s.becomes("early.test/", "503")
	s.becomes("port.test/", "503")
	s.reports("shop-early-", "Service shop/late does not exist")
	s.reports("shop-port-", "shop/a", "81")
	s.reports("shop-rule-", "Hots")
	s.expect("rule.test/", "404")
	c.Apply(app("shop/late"))
	s.becomes("early.test/", "200 shop/late")
	s.settles("shop-early-")
	c.Apply(strings.Replace(app("shop/a"), "{name: http, port: 80, targetPort: main}",
		"{name: http, port: 80, targetPort: main}, {name: more, port: 81, targetPort: main}", 1))
	s.becomes("port.test/", "200 shop/a")
	s.settles("shop-port-")
	c.DeleteNow("Service", "shop/late")
	s.becomes("early.test/", "503")
	s.reports("shop-early-", "Service shop/late does not exist")
}
