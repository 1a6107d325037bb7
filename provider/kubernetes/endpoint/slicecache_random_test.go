package endpoint

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestRandomChanges applies random changes, collects now and then, and compares what a receiver then has with what
// follows from the objects as a whole.
func TestRandomChanges(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		cache, world, known := blank(), newWorld(), map[string][]dynamic.Endpoint{}
		for step := range 120 {
			world.change(random, cache)
			if random.IntN(50) == 0 {
				cache.again()
			}
			if random.IntN(3) > 0 && step < 119 {
				continue
			}
			for _, set := range cache.collect() {
				if set.Deleted {
					delete(known, set.Key)
				} else {
					known[set.Key] = set.Endpoints
				}
			}
			diff := cmp.Diff(world.naive(), known, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.AddrPort) bool {
				return a == b
			}))
			if diff != "" {
				t.Fatalf("seed %d, step %d: (-want +got):\n%s", seed, step, diff)
			}
		}
	}
}

// world is a few Services with their slices, and what follows from them, computed in the plainest way.
type world struct {
	services map[string]*corev1.Service
	slices   map[string]*discoveryv1.EndpointSlice
}

func newWorld() *world {
	return &world{services: map[string]*corev1.Service{}, slices: map[string]*discoveryv1.EndpointSlice{}}
}

// change makes one change and notifies the cache.
func (w *world) change(random *rand.Rand, cache *sliceCache) {
	name := fmt.Sprint("s", random.IntN(3))
	if random.IntN(4) == 0 {
		before := w.services[name]
		if before != nil && random.IntN(3) == 0 {
			delete(w.services, name)
			cache.service(before, nil)
			return
		}
		after := web(port("a", 80), port("b", 81))
		after.Name, after.Spec.Ports = name, after.Spec.Ports[:random.IntN(3)]
		w.services[name] = after
		cache.service(before, after)
		return
	}
	of := fmt.Sprint("slice", random.IntN(5))
	before := w.slices[of]
	if before != nil && random.IntN(4) == 0 {
		delete(w.slices, of)
		cache.slice(before, nil)
		return
	}
	ports := map[string]int32{"a": 8080, "b": 8081 + int32(random.IntN(2))}
	after := sliceOf(of, ports)
	after.Labels[discoveryv1.LabelServiceName] = name
	for range random.IntN(5) {
		letters := "yn-"
		text := []byte{letters[random.IntN(3)], letters[random.IntN(3)], letters[random.IntN(3)]}
		after.Endpoints = append(after.Endpoints, at(fmt.Sprint("192.0.2.", random.IntN(6)), conditions(string(text))))
	}
	w.slices[of] = after
	cache.slice(before, after)
}

// naive computes every set from nothing.
func (w *world) naive() map[string][]dynamic.Endpoint {
	sets := map[string][]dynamic.Endpoint{}
	for name, service := range w.services {
		for _, port := range service.Spec.Ports {
			found := map[netip.AddrPort]dynamic.Endpoint{}
			for _, slice := range w.slices {
				if slice.Labels[discoveryv1.LabelServiceName] != name {
					continue
				}
				for _, endpoint := range slice.Endpoints {
					ready, serving := endpoint.Conditions.Ready, endpoint.Conditions.Serving
					if serving == nil {
						serving = to(ready == nil || *ready)
					}
					if !*serving && (ready == nil || !*ready) {
						continue
					}
					index := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return *p.Name == port.Name })
					address := netip.MustParseAddrPort(fmt.Sprintf("%s:%d", endpoint.Addresses[0], *slice.Ports[index].Port))
					terminating := endpoint.Conditions.Terminating != nil && *endpoint.Conditions.Terminating
					if other, twice := found[address]; !twice || other.Terminating {
						found[address] = dynamic.Endpoint{Address: address, Terminating: terminating}
					}
				}
			}
			set := []dynamic.Endpoint{}
			for _, endpoint := range found {
				set = append(set, endpoint)
			}
			slices.SortFunc(set, func(a, b dynamic.Endpoint) int { return a.Address.Compare(b.Address) })
			sets[fmt.Sprintf("k/shop/%s:%d", name, port.Port)] = set
		}
	}
	return sets
}
