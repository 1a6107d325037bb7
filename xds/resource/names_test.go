package resource_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/xds/resource"
)

func TestListenerNames(t *testing.T) {
	for key, want := range map[string][]string{
		"east/shop/cart:80":           {"cart.shop:80", "cart.shop.svc.cluster.local:80"},
		"a.b/n/s:65535":               {"s.n:65535", "s.n.svc.cluster.local:65535"},
		"dns/example.org:80":          nil,
		"dns/shop/cart:80":            nil,
		"":                            nil,
		"east/shop/cart":              nil,
		"east/shop/cart:":             nil,
		"east/shop/cart:http":         nil,
		"east/shop/cart:0":            nil,
		"east/shop/cart:65536":        nil,
		"east/shop/cart:80:80":        nil,
		"east/shop/:80":               nil,
		"east//cart:80":               nil,
		"/shop/cart:80":               nil,
		"east/shop/cart/x:80":         nil,
		"east/shop:1/cart:80":         nil,
		"east/shop\n/cart:80":         nil,
		"east/\xff/cart:80":           nil,
		"dns/[2001:db8::1]:80":        nil,
		"east/shop/cart:+80":          nil,
		"east/shop/cart:80/something": nil,
	} {
		if diff := cmp.Diff(want, resource.ListenerNames(key)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", key, diff)
		}
	}
}

func FuzzListenerNames(f *testing.F) {
	f.Add("east/shop/cart:80")
	f.Add("dns/example.org:80")
	f.Fuzz(func(t *testing.T, key string) {
		names, bundle := resource.ListenerNames(key), resource.OfSet(key)
		if len(names) != len(bundle.Listeners) {
			t.Fatalf("%d names and %d listeners", len(names), len(bundle.Listeners))
		}
		for _, message := range resources(bundle) {
			valid(t, message)
			wire(t, message)
		}
		if names == nil {
			return
		}
		_, port, _ := strings.Cut(names[0], ":")
		if !strings.HasSuffix(key, ":"+port) || bundle.Clusters[0].GetEdsClusterConfig().GetServiceName() != key {
			t.Errorf("%q: %q", key, names)
		}
	})
}
