package picker

import (
	"cmp"
	"fmt"
	reference "hash/fnv"
	"math"
	"slices"
	"testing"
)

// TestRendezvousByTheBook compares with the formula, written down as it is in the literature.
func TestRendezvousByTheBook(t *testing.T) {
	for _, weights := range [][]uint64{{1, 1, 1}, {1, 2, 4}, {100, 1, 7, 7}} {
		candidates := hosts(len(weights))
		for i := range candidates {
			candidates[i].Weight = weights[i]
		}
		picker := New(named("hrw"), candidates, nil)
		for client := range 500 {
			address := fmt.Sprint("192.0.2.", client)
			scores := make([]float64, len(candidates))
			order := make([]int, len(candidates))
			for i := range candidates {
				hash := reference.New64a()
				hash.Write([]byte(address + candidates[i].ID))
				order[i], scores[i] = i, float64(weights[i])/-math.Log(float64(mix(hash.Sum64()))/math.Pow(2, 64))
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
			for attempt, want := range order {
				if got := picker.Pick(&Request{Client: address, Attempt: attempt}); got != want {
					t.Fatalf("weights %v, %s, attempt %d: got %d, want %d", weights, address, attempt, got, want)
				}
			}
		}
	}
}
