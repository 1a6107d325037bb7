package kubernetes

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// providerState returns the state of a provider and its reason.
func (g *gate) providerState(provider string) (state, reason string) {
	g.t.Helper()
	for _, one := range g.Readiness().Providers {
		if one.Name == provider {
			return one.State, one.Reason
		}
	}
	return "", ""
}

// stands waits until a provider is in a state whose reason contains all of the words; synced has no reason.
func (g *gate) stands(provider, state string, words ...string) {
	g.t.Helper()
	var is, reason string
	until(g.t, func() bool {
		is, reason = g.providerState(provider)
		return is == state && containsAll(reason, words) && (len(words) > 0 || state != "synced" || reason == "")
	}, func() string { return provider + " is " + is + ": " + reason + g.tail() })
}

// reports waits until /ready lists a verdict that contains all of the words.
func (g *gate) reports(words ...string) {
	g.t.Helper()
	until(g.t, func() bool {
		return g.says(words)
	}, func() string { return "no verdict holds " + strings.Join(words, ", ") + g.tail() })
}

// settles waits until /ready lists no verdict that holds all of the words.
func (g *gate) settles(words ...string) {
	g.t.Helper()
	until(g.t, func() bool {
		return !g.says(words)
	}, func() string { return "a verdict holds " + strings.Join(words, ", ") + g.tail() })
}

func (g *gate) says(words []string) bool {
	g.t.Helper()
	return slices.ContainsFunc(g.Readiness().Verdicts, func(f harness.Finding) bool {
		return containsAll(strings.Join([]string{f.Kind, f.Name, f.Status, f.Reason, f.Origin}, " "), words)
	})
}

func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// TestGroupsComeAndGo starts before any custom resource is served, and then brings the groups one by one: each is read
// as soon as it comes, and the object of the group further up is used. Then they go, and what they hid comes back.
func TestGroupsComeAndGo(t *testing.T) {
	c := cluster.Start(t)
	c.Apply(rights(t)...)
	c.Apply(namespace("shop"), app("shop/old"), app("shop/middle"), app("shop/own"))
	s := open(t, c, static)
	s.stands("kubernetescrd", "absent")
	s.expect("shop.test/", "404")
	apps := map[string]string{"traefik.containo.us": "old", "traefik.io": "middle", "sluice.dev": "own"}
	for _, group := range slices.Backward(groups()) {
		c.Apply(crds(t, group)...)
		c.Apply(
			route(group, "shop/same", "shop.test", "[{name: "+apps[group]+", port: 80}]"),
			route(group, "shop/of-"+apps[group], apps[group]+".test", "[{name: "+apps[group]+", port: 80}]"),
		)
		s.becomes("shop.test/", "200 shop/"+apps[group])
		s.becomes(apps[group]+".test/", "200 shop/"+apps[group])
	}
	s.stands("kubernetescrd", "synced")
	for _, name := range apps {
		s.expect(name+".test/", "200 shop/"+name)
	}
	s.reports("traefik.io", "shop/same", "degraded", "the group sluice.dev is used instead")
	s.reports("traefik.containo.us", "shop/same", "degraded", "the group sluice.dev is used instead")

	c.DeleteNow("IngressRoute.sluice.dev", "shop/same")
	s.becomes("shop.test/", "200 shop/middle")
	s.settles("sluice.dev is used instead")
	s.reports("shop/same", "degraded", "the group traefik.io is used instead")

	c.DeleteNow("CustomResourceDefinition.apiextensions.k8s.io", "ingressroutes.traefik.io")
	s.becomes("shop.test/", "200 shop/old")
	s.becomes("middle.test/", "404")
	s.expect("own.test/", "200 shop/own")
	s.settles("shop/same")
	s.stands("kubernetescrd", "synced")
	for _, group := range []string{"sluice.dev", "traefik.containo.us"} {
		c.DeleteNow("CustomResourceDefinition.apiextensions.k8s.io", "ingressroutes."+group)
	}
	s.becomes("shop.test/", "404")
	s.becomes("own.test/", "404")
}
