package main

import (
	"testing"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/static"
)

// Which clients reach an entrypoint decides whether api.requireAuth applies there.
func TestLoopbackEntrypoints(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "127.1.2.3:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "localhost:80": true,
		"LocalHost:80": true,
		":80":          false, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "192.168.0.1:80": false,
		"[fe80::1]:80": false, "localhost.test:80": false,
	} {
		found, err := routerEntryPoints(&static.Configuration{
			EntryPoints: map[string]*static.EntryPoint{"web": {Address: address}},
		})
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", address, found, err)
			continue
		}
		if found[0].Loopback != want {
			t.Errorf("%s: loopback is %v, want %v", address, found[0].Loopback, want)
		}
	}
}

// Which peers are trusted for the client's address decides whether a list of addresses protects the API.
func TestEntrypointsThatTrustAllPeers(t *testing.T) {
	ranges := func(entries ...string) []forwarded.Range {
		parsed, err := forwarded.ParseRanges(entries...)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	halves, chosen := ranges("0.0.0.0/1", "128.0.0.0/1"), ranges("10.0.0.0/8", "2001:db8::/32")
	for name, test := range map[string]struct {
		entrypoint         static.EntryPoint
		forwarded, pretend bool
	}{
		"none": {},
		"chosen peers": {static.EntryPoint{
			ForwardedHeaders: static.ForwardedHeaders{TrustedIPs: chosen},
			ProxyProtocol:    &static.ProxyProtocol{TrustedIPs: chosen},
		}, false, false},
		"insecure headers":  {static.EntryPoint{ForwardedHeaders: static.ForwardedHeaders{Insecure: true}}, true, false},
		"headers of all":    {static.EntryPoint{ForwardedHeaders: static.ForwardedHeaders{TrustedIPs: halves}}, true, false},
		"insecure protocol": {static.EntryPoint{ProxyProtocol: &static.ProxyProtocol{Insecure: true}}, false, true},
		"protocol of all": {
			static.EntryPoint{ProxyProtocol: &static.ProxyProtocol{TrustedIPs: ranges("::/0")}},
			false,
			true,
		},
	} {
		test.entrypoint.Address = ":80"
		found, err := routerEntryPoints(&static.Configuration{
			EntryPoints: map[string]*static.EntryPoint{"web": &test.entrypoint},
		})
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", name, found, err)
			continue
		}
		if found[0].AnyForwarded != test.forwarded || found[0].AnyPeer != test.pretend {
			t.Errorf("%s: %v, %v", name, found[0].AnyForwarded, found[0].AnyPeer)
		}
	}
}

// Which entrypoints are internal decides where connections may take the descriptors in reserve.
func TestInternalEntrypoints(t *testing.T) {
	ping, scraped := &static.Ping{EntryPoint: "Own"}, &static.Metrics{Prometheus: &static.Prometheus{EntryPoint: "own"}}
	manual := &static.Ping{EntryPoint: "own", ManualRouting: true}
	for name, test := range map[string]struct {
		config     static.Configuration
		entrypoint string
		// asDefault has routers attached to web alone.
		asDefault, want bool
	}{
		"traefik":                        {static.Configuration{}, "traefik", false, true},
		"another":                        {static.Configuration{Ping: ping, Metrics: scraped}, "web", true, false},
		"ping":                           {static.Configuration{Ping: ping}, "own", true, true},
		"metrics":                        {static.Configuration{Metrics: scraped}, "own", true, true},
		"ping beside routers by default": {static.Configuration{Ping: ping}, "own", false, false},
		"ping with manual routing":       {static.Configuration{Ping: manual}, "own", true, false},
	} {
		test.config.EntryPoints = map[string]*static.EntryPoint{
			"traefik": {}, "web": {AsDefault: test.asDefault}, "own": {},
		}
		s := &system{config: &test.config}
		if got := s.internal(test.entrypoint); got != test.want {
			t.Errorf("%s: internal is %v", name, got)
		}
	}
}
