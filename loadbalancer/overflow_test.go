package loadbalancer

import (
	"testing"
	"time"
)

// Weights as large as can be, on sets whose sizes have no small common multiple: the sum of all shares must not
// overflow, which would leave no candidate, or an index beyond the last member.
func TestLargeWeightsOnManyServers(t *testing.T) {
	pool := newPool("large", time.Now(), newEventQueue())
	pool.policies = &sharedPolicies{}
	add := func(size int) {
		one := &server{weight: clampWeight(1 << 40)}
		for range size {
			endpoint := &Endpoint{}
			one.members = append(one.members, &Member{
				pool: pool, upstream: &Upstream{endpoint: endpoint}, memberState: memberState{weighs: true},
			})
		}
		pool.servers = append(pool.servers, one)
	}
	for _, prime := range []int{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41} {
		add(prime)
	}
	for range 20_000 {
		add(1)
	}
	pool.publish(0, "")
	each := map[*Member]uint64{}
	for member, share := range pool.Snapshot().Members() {
		each[member] = share
	}
	whole := float64(each[pool.servers[len(pool.servers)-1].members[0]])
	for _, server := range pool.servers {
		sum := 0.0
		for _, member := range server.members {
			sum += float64(each[member])
		}
		if sum < whole*.999 || sum > whole*1.001 {
			t.Fatalf("%d members share %g, one has %g", len(server.members), sum, whole)
		}
	}
	seen := map[*Member]bool{}
	for range 100_000 {
		member, ok := pick(pool)
		if !ok {
			t.Fatal("a pick finds no endpoint")
		}
		seen[member] = true
	}
	if serving := pool.Snapshot().Serving(); len(seen) < serving*9/10 {
		t.Errorf("100,000 picks met %d of %d members", len(seen), serving)
	}
}
