package immutable

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestTableClosesHoles removes keys whose hashes collide, in every order.
func TestTableClosesHoles(t *testing.T) {
	const keys = 5
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var table table[string, int]
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
				slot := table.find(hashes[i], strconv.Itoa(i))
				if found := slot != nil && slot.value == i+1; found != left[i] {
					t.Fatalf("key %d: found is %t, want %t, in %v", i, found, left[i], table.slots)
				}
			}
		}
	}
}
