package ingressnginx

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestCookieIsThatOfTheLastIngress changes the cookie of a younger Ingress with the same Service; the older one follows
// it.
func TestCookieIsThatOfTheLastIngress(t *testing.T) {
	cluster := newCluster()
	cluster.apply(t, readFile(t, "testdata/common.txt"))
	cluster.ingresses.put(siteOf("b-first", "a.example.com", "web", map[string]string{"affinity": "cookie"}))
	p := cluster.provider(defaultConfig())
	check := func(want string) {
		t.Helper()
		if got := stickyName(t, translated(t, p), "shop.b-first,000,000"); got != want {
			t.Errorf("the cookie is %s, want %s", got, want)
		}
	}
	check("INGRESSCOOKIE")
	for _, name := range []string{"one", "two"} {
		cluster.ingresses.put(siteOf("a-last", "b.example.com", "web", map[string]string{
			"affinity": "cookie", "session-cookie-name": name,
		}))
		check(name)
	}
	cluster.ingresses.put(siteOf("a-last", "b.example.com", "web", nil))
	check("INGRESSCOOKIE")
}

// stickyName returns the name of the cookie of a router's service; empty without one.
func stickyName(t *testing.T, configuration *dynamic.Configuration, router string) string {
	t.Helper()
	balancer := configuration.HTTP.Services.Get(configuration.HTTP.Routers.Get(router).Service).LoadBalancer
	if balancer.Sticky == nil {
		return ""
	}
	return balancer.Sticky.Cookie.Name
}
