package router

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/datagram"
)

// newUDPBench returns a bench with UDP entrypoints and a service "dns@file" of one server.
func newUDPBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.compiler.options.PacketEntryPoints = []string{"dns", "game"}
	for _, name := range b.compiler.options.PacketEntryPoints {
		b.target.Packets(name)
	}
	b.config.UDP = &dynamic.UDPConfiguration{}
	balancer := &dynamic.UDPServersLoadBalancer{Servers: []dynamic.UDPServer{{Address: "192.0.2.1:53"}}}
	balancer.SetDefaults()
	b.config.UDP.Services = b.config.UDP.Services.With("dns@file", &dynamic.UDPService{LoadBalancer: balancer})
	return b
}

func (b *bench) udpRouter(name, service string, entrypoints ...string) {
	b.config.UDP.Routers = b.config.UDP.Routers.With(name, &dynamic.UDPRouter{Service: service, EntryPoints: entrypoints})
}

// packets returns the routers that serve the UDP entrypoints.
func (b *bench) packets() map[string]string {
	got := map[string]string{}
	for _, name := range b.compiler.options.PacketEntryPoints {
		if route := b.target.Packets(name).Route(); route != nil {
			got[name] = route.RouterName
		}
	}
	return got
}

func TestUDPRouters(t *testing.T) {
	tests := map[string]struct {
		declare  func(b *bench)
		routes   map[string]string
		verdicts map[string]string
	}{
		"all entrypoints": {
			func(b *bench) { b.udpRouter("r@file", "dns") }, map[string]string{"dns": "r@file", "game": "r@file"}, nil,
		},
		"one entrypoint": {func(b *bench) { b.udpRouter("r@file", "dns", "dns") }, map[string]string{"dns": "r@file"}, nil},
		"the last one by name": {
			func(b *bench) {
				b.udpRouter("a@file", "dns", "dns", "game")
				b.udpRouter("b@file", "dns", "dns")
			},
			map[string]string{"dns": "b@file", "game": "a@file"},
			map[string]string{"a@file": `gets no datagram on entrypoint "dns": an entrypoint has one UDP router, the last one ` +
				`by name, which is "b@file"`},
		},
		"the last one without a fault": {
			func(b *bench) {
				b.udpRouter("a@file", "dns", "dns")
				b.udpRouter("b@file", "dsn", "dns")
			},
			map[string]string{"dns": "a@file"},
			map[string]string{"b@file": `udpService "dsn@file" does not exist, did you mean "dns@file"?`},
		},
		"another service": {
			func(b *bench) { b.udpRouter("r@file", "dsn", "dns") },
			map[string]string{},
			map[string]string{"r@file": `udpService "dsn@file" does not exist, did you mean "dns@file"?`},
		},
		"another entrypoint": {
			func(b *bench) { b.udpRouter("r@file", "dns", "dsn") },
			map[string]string{},
			map[string]string{"r@file": `entrypoint "dsn" does not exist, did you mean "dns"?`},
		},
		"a TCP entrypoint": {
			func(b *bench) { b.udpRouter("r@file", "dns", "web", "dns") },
			map[string]string{"dns": "r@file"},
			map[string]string{"r@file": `entrypoint "web" is not one for UDP (its address does not end in /udp)`},
		},
		"weighted": {
			func(b *bench) {
				one := 1
				b.config.UDP.Services = b.config.UDP.Services.With("w@file", &dynamic.UDPService{
					Weighted: &dynamic.UDPWeightedRoundRobin{Services: []dynamic.WeightedService{{Name: "dns", Weight: &one}}},
				})
				b.udpRouter("r@file", "w", "dns")
			}, map[string]string{"dns": "r@file"}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newUDPBench(t)
			test.declare(b)
			b.all()
			if diff := cmp.Diff(test.routes, b.packets()); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
			got := map[string]string{}
			for _, verdict := range b.compiled.Verdicts {
				got[verdict.Ref.Name] = verdict.Reason
			}
			if len(got)+len(test.verdicts) > 0 && !cmp.Equal(test.verdicts, got) {
				t.Errorf("verdicts (-want +got):\n%s", cmp.Diff(test.verdicts, got))
			}
			for entrypoint := range test.routes {
				opening := &datagram.Opening{Client: netip.MustParseAddr("192.0.2.9")}
				target, err := b.target.Packets(entrypoint).Route().Service.Open(opening)
				if err != nil || target.Member.Address() != "192.0.2.1:53" {
					t.Errorf("%s: %v, %v", entrypoint, target, err)
				}
			}
			// Without routers, datagrams are dropped.
			removed := make([]dynamic.Ref, 0)
			for name := range b.config.UDP.Routers.Keys() {
				removed = append(removed, ref(dynamic.KindUDPRouter, name))
			}
			b.config.UDP.Routers = dynamic.Objects[dynamic.UDPRouter]{}
			b.apply(true, removed...)
			if got := b.packets(); len(got) > 0 {
				t.Errorf("routes %v of routers that are gone", got)
			}
		})
	}
}
