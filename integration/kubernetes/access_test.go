package kubernetes

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// without are the permissions of deploy/kubernetes without those for some resources.
func without(t *testing.T, resources ...string) []string {
	t.Helper()
	texts := rights(t)
	for _, resource := range resources {
		last := texts[len(texts)-1]
		if texts[len(texts)-1] = strings.Replace(last, "      - "+resource+"\n", "      - nothing\n",
			1); texts[len(texts)-1] == last {
			t.Fatalf("there are no rights to %s", resource)
		}
	}
	return texts
}

// TestMissingRights removes permissions: each one is reported by verb and resource, affects only what depends on it,
// and is used when it is granted.
func TestMissingRights(t *testing.T) {
	c := cluster.Start(t)
	c.Apply(without(t, "middlewares", "secrets")...)
	c.Apply(crds(t, "traefik.io")...)
	issued := harness.NewAuthority(t).Issue("safe.test")
	c.Apply(namespace("shop"), app("shop/web"), stamp("shop/stamp", "shop"), pair(t, "safe", issued),
		route("traefik.io", "shop/plain", "plain.test", "[{name: web, port: 80}]"), guarded("shop/guarded", "guarded.test",
			"[{name: stamp}]"),
		secured("safe", "safe.test", "{secretName: safe}"),
	)
	s := open(t, c, static)
	s.stands("kubernetescrd", "synced", "list", "middlewares.traefik.io", "secrets")
	s.expect("plain.test/", "200 shop/web")
	s.expect("guarded.test/", "503")
	for _, resource := range []string{"middlewares.traefik.io", "secrets"} {
		var told int
		for line := range strings.Lines(s.Log.String()) {
			if strings.Contains(line, resource) && !strings.Contains(line, "level=debug") {
				told++
				if !strings.Contains(line, "list") {
					t.Errorf("no verb: %s", line)
				}
			}
		}
		if told != 1 {
			t.Errorf("%s is reported %d times%s", resource, told, s.tail())
		}
	}
	c.Apply(without(t, "secrets")...)
	s.stamped("guarded.test/", "shop")
	c.Apply(rights(t)...)
	s.shows("safe.test", issued)
	s.stands("kubernetescrd", "synced")
}

// TestWithoutRightsToEndpointsSluiceIsNotReady since it would answer 503 to all.
func TestWithoutRightsToEndpointsSluiceIsNotReady(t *testing.T) {
	c := cluster.Start(t)
	c.Apply(without(t, "endpointslices")...)
	c.Apply(crds(t, "traefik.io")...)
	c.Apply(namespace("shop"), app("shop/web"), route("traefik.io", "shop/plain", "plain.test", "[{name: web, port: 80}]"))
	s := harness.Start(t, harness.Setup{
		Static: static, NotReady: true,
		Env: []string{"KUBECONFIG=" + c.AccountKubeconfig(account)},
	})
	s.Until("not ready, and why", func(r harness.Readiness) bool {
		for _, one := range r.Providers {
			if one.Name == "kubernetesendpoints" && one.State == "forbidden" {
				return r.Status == 503 && containsAll(one.Reason, []string{"list", "endpointslices"})
			}
		}
		return false
	})
	c.Apply(rights(t)...)
	s.Until("ready", func(r harness.Readiness) bool { return r.Status == 200 })
	g := &gate{Sluice: s, t: t, web: harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)}
	g.expect("plain.test/", "200 shop/web")
}
