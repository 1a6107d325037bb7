package loadbalancer

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Weights as large as can be, on sets whose sizes have no small common multiple: the sum of all shares must not overflow,
// which would leave nobody to pick, or an index beyond the last member.
func TestLargeWeightsOnManyServers(t *testing.T) {
	var servers []*server
	add := func(size int) {
		one := &server{weight: clampWeight(1 << 40), endpoints: make([]dynamic.Endpoint, size)}
		for range size {
			one.members = append(one.members, &Member{})
		}
		servers = append(servers, one)
	}
	for _, prime := range []int{2, 3, 5, 7, 11, 13, 17, 19} {
		add(prime)
	}
	for range 20_000 {
		add(1)
	}
	snapshot := newSnapshot(servers)
	seen := map[int]bool{}
	for cursor := range uint64(100_000) {
		index := snapshot.order.at(cursor)
		if index < 0 || index >= len(snapshot.serving) {
			t.Fatalf("cursor %d picks %d of %d", cursor, index, len(snapshot.serving))
		}
		seen[index] = true
	}
	if len(seen) < len(snapshot.serving)*9/10 {
		t.Errorf("100,000 picks met %d of %d members", len(seen), len(snapshot.serving))
	}
}
