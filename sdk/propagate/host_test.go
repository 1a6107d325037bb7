package propagate_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/sdk/propagate"
)

func TestInternalHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"web":                         true,
		"my-web_1":                    true,
		"localhost":                   true,
		"localhost.":                  true,
		"web.shop.svc":                true,
		"WEB.Shop.SVC":                true,
		"web.shop.svc.cluster.local":  true,
		"web.shop.svc.cluster.local.": true,
		"127.0.0.1":                   true,
		"127.8.8.8":                   true,
		"10.1.2.3":                    true,
		"172.31.0.1":                  true,
		"192.168.0.1":                 true,
		"::1":                         true,
		"fd00::1":                     true,
		"fd00::1%eth0":                true,
		"::ffff:10.0.0.1":             true,

		"":                                false,
		".":                               false,
		"ai.":                             false, // A top-level domain.
		"web.shop":                        false,
		"example.com":                     false,
		"svc":                             true,
		".svc":                            false,
		"svc.example.com":                 false,
		"web.svc.example.com":             false,
		"web.shop.svc.cluster.local.evil": false,
		"notsvc.xsvc":                     false,
		"8.8.8.8":                         false,
		"172.32.0.1":                      false,
		"169.254.169.254":                 false, // Metadata of clouds.
		"2001:db8::1":                     false,
		"::ffff:8.8.8.8":                  false,
		"134744072":                       false, // 8.8.8.8 for some resolvers.
		"0x08080808":                      false,
		"010.010.010.010":                 false,
		"09":                              false,
		"99999999999999999999":            false,
		"example\uff61com":                false, // UTS #46 maps these characters to dots.
		"example\u3002com":                false,
		"a b":                             false,
		"web:80":                          false,
	} {
		if got := propagate.InternalHosts("cluster.local")(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
		if got := (propagate.Propagator{}).Allows(host); got != want {
			t.Errorf("%q: %v by default, want %v", host, got, want)
		}
	}
	other := propagate.InternalHosts("Corp.Example.")
	if !other("web.shop.svc.corp.example") || other("web.shop.svc.cluster.local") {
		t.Error("the domain of the cluster is not the one that was given")
	}
}
