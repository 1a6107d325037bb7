package loadbalancer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestRandomHistory compares pools after a random history with what the last specification and the last sets say, and
// demands that nothing stays open in the end.
func TestRandomHistory(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		registry, now := NewRegistry(Options{}), time.Unix(1000, 0)
		dialers := []*line{newLine(), newLine()}
		sets := map[string][]dynamic.Endpoint{}
		specs, pools := map[string]PoolSpec{}, map[string]*Pool{}
		for step := range uint64(200) {
			name := fmt.Sprint("pool", random.IntN(3))
			switch random.IntN(6) {
			case 0:
				registry.Release(name)
				delete(specs, name)
				delete(pools, name)
			case 1, 2:
				specs[name] = randomSpec(random, name, dialers)
				pools[name] = registry.pool(specs[name])
			default:
				key := fmt.Sprint("source/", random.IntN(3))
				sets[key] = randomEndpoints(random)
				registry.Apply(dynamic.EndpointSet{Key: key, Version: step + 1, Endpoints: sets[key]})
			}
			now = now.Add(time.Second)
			if next := registry.Flush(now); !next.IsZero() {
				t.Fatal("flush left something behind")
			}
			for name, pool := range pools {
				if diff := cmp.Diff(expected(specs[name], sets), actual(pool)); diff != "" {
					t.Fatalf("seed %d, step %d, %s (-want +got):\n%s", seed, step, name, diff)
				}
			}
		}
		for name := range pools {
			registry.Release(name)
		}
		if left := slices.Collect(registry.Endpoints()); len(left) > 0 {
			t.Fatalf("seed %d: %d endpoints are left", seed, len(left))
		}
		for _, dialer := range dialers {
			closed := 0
			for count := range maps.Values(dialer.closed) {
				closed += count
			}
			if closed != len(dialer.made) {
				t.Fatalf("seed %d: %d of %d upstreams were closed", seed, closed, len(dialer.made))
			}
		}
	}
}

func randomSpec(random *rand.Rand, name string, dialers []*line) PoolSpec {
	spec := PoolSpec{Name: name, Dialer: dialers[random.IntN(2)]}
	for range random.IntN(4) {
		if random.IntN(3) == 0 {
			spec.Servers = append(spec.Servers, inline(fmt.Sprintf("192.0.2.%d:80", random.IntN(4)), random.IntN(3)))
			continue
		}
		spec.Servers = append(spec.Servers, following(fmt.Sprint("source/", random.IntN(3)), random.IntN(3)))
	}
	return spec
}

func randomEndpoints(random *rand.Rand) []dynamic.Endpoint {
	var all []dynamic.Endpoint
	for i := range 5 {
		if random.IntN(2) == 0 {
			continue
		}
		text := fmt.Sprintf("192.0.2.%d:80#%d", i, random.IntN(2))
		if random.IntN(4) == 0 {
			text += "!"
		}
		all = append(all, endpoint(text))
	}
	return all
}

// expected says which endpoints get requests: true for those with a share.
func expected(spec PoolSpec, sets map[string][]dynamic.Endpoint) map[string]bool {
	type candidate struct {
		label       string
		terminating bool
		weight      int
	}
	var candidates []candidate
	serving := false
	for _, server := range spec.Servers {
		endpoints := sets[server.SetKey]
		if server.SetKey == "" {
			endpoints = []dynamic.Endpoint{{Address: server.Address}}
		}
		for _, e := range endpoints {
			key := EndpointKey{Source: server.source(), Address: e.Address, UID: e.UID}
			candidates = append(candidates, candidate{server.SetKey + " " + label(key), e.Terminating, server.Weight})
			serving = serving || !e.Terminating && server.Weight > 0
		}
	}
	want := map[string]bool{}
	for _, c := range candidates {
		want[c.label] = want[c.label] || c.weight > 0 && (!c.terminating || !serving)
	}
	return want
}

func actual(pool *Pool) map[string]bool {
	keys := map[*Member]string{}
	for _, server := range pool.servers {
		for _, member := range server.members {
			keys[member] = server.spec.SetKey
		}
	}
	got := map[string]bool{}
	for member, share := range pool.Snapshot().Members() {
		got[keys[member]+" "+label(member.Endpoint().Key())] = share > 0
	}
	return got
}
