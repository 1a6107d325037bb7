package ingressnginx

import "testing"

// TestPassthroughBesideAliases has aliases with a wildcard come and go, whose HTTP routers would get the connections of
// a host that are to be passed on.
func TestPassthroughBesideAliases(t *testing.T) {
	config := defaultConfig()
	config.EnableSSLPassthrough = true
	const passed = "a.deep.example.com"
	through := map[string]string{"ssl-passthrough": "true"}
	aliased := map[string]string{"server-alias": "*.example.com"}
	both := map[string]string{"ssl-passthrough": "true", "server-alias": "*.example.com"}
	// The plan of a host is made before that of a host behind it in the alphabet.
	for _, owner := range []string{"0.example.net", "z.example.net"} {
		cluster := newCluster()
		cluster.apply(t, readFile(t, "testdata/common.txt"))
		cluster.ingresses.put(siteOf("passed", passed, "web", through))
		cluster.ingresses.put(siteOf("other", owner, "web", aliased))
		p := cluster.provider(config)
		check := func(when string, want bool) {
			t.Helper()
			configuration := translated(t, p)
			if got := configuration.TCP.Routers.Get("shop.passed,000,000,passthrough") != nil; got != want {
				t.Errorf("%s, %s: passed on: %v", owner, when, got)
			}
			if got := configuration.HTTP.Routers.Get("shop.passed,000,000,tls") == nil; got != want {
				t.Errorf("%s, %s: the host has no routers with TLS: %v", owner, when, got)
			}
		}
		check("from the beginning", false)
		cluster.ingresses.put(siteOf("other", owner, "web", nil))
		check("without the alias", true)
		cluster.ingresses.put(siteOf("third", "y.example.net", "web", aliased))
		check("with the alias of another host", false)
		cluster.ingresses.put(siteOf("other", owner, "web", aliased))
		cluster.ingresses.drop("shop", "third")
		check("with the alias once more", false)
		cluster.ingresses.drop("shop", "other")
		check("without the host of the alias", true)
		cluster.ingresses.put(siteOf("passed", passed, "web", both))
		check("with an alias of its own", false)
		cluster.ingresses.put(siteOf("passed", passed, "web", through))
		check("without it", true)
		if len(p.aliases) > 0 {
			t.Errorf("%s: left: %v", owner, p.aliases)
		}
	}
}
