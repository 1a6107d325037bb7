package index

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestShardsEqualMaps changes a persistent map and ordinary ones side by side, with keys that come and go.
func TestShardsEqualMaps(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s, want := newShards[int](), map[string]int{}
	for round := range 200 {
		before, frozen := s, make(map[string]int, len(want))
		for key, value := range want {
			frozen[key] = value
		}
		s = s.copied()
		e := &edit{}
		for range 20 {
			key := strconv.Itoa(random.IntN(600))
			if random.IntN(5) < 2 {
				s.remove(e, key)
				delete(want, key)
			} else {
				s.set(e, key, round+1)
				want[key] = round + 1
			}
		}
		checkShards(t, s, want)
		checkShards(t, before, frozen)
	}
}

func checkShards(t *testing.T, s *shards[int], want map[string]int) {
	t.Helper()
	if s.size != len(want) {
		t.Fatalf("got size %d, want %d", s.size, len(want))
	}
	for i := range 600 {
		if key := strconv.Itoa(i); s.get(key) != want[key] {
			t.Fatalf("got %d for %s, want %d", s.get(key), key, want[key])
		}
	}
}

// TestTableClosesHoles removes keys whose hashes collide, in every order.
func TestTableClosesHoles(t *testing.T) {
	const keys = 5
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var table table[int]
		hashes := make([]uint64, keys)
		for i := range hashes {
			hashes[i] = 1<<63 | uint64(random.IntN(16))<<shardBits
			table.set(hashes[i], strconv.Itoa(i), i+1)
		}
		left := map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true}
		for _, gone := range random.Perm(keys) {
			if !table.remove(hashes[gone], strconv.Itoa(gone)) || table.remove(hashes[gone], strconv.Itoa(gone)) {
				t.Fatalf("removing %d twice of %v: want there, then not there", gone, table.slots)
			}
			delete(left, gone)
			for i := range keys {
				if found := table.get(hashes[i], strconv.Itoa(i)) == i+1; found != left[i] {
					t.Fatalf("key %d: found is %t, want %t, in %v", i, found, left[i], table.slots)
				}
			}
		}
	}
}
