package picker

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoundRobinCounts(t *testing.T) {
	for _, test := range []struct {
		weights []int
		rounds  int
		want    []int
	}{
		{[]int{1}, 3, []int{3}},
		{[]int{1, 1, 1}, 9, []int{3, 3, 3}},
		{[]int{7, 7}, 10, []int{5, 5}},
		{[]int{5, 1, 1}, 14, []int{10, 2, 2}},
		{[]int{100, 50}, 9, []int{6, 3}},
		{[]int{0, 3, 0, 1}, 8, []int{0, 6, 0, 2}},
		{[]int{-4, 2}, 5, []int{0, 5}},
		{[]int{3, 0, 0}, 5, []int{5, 0, 0}},
	} {
		robin := NewRoundRobin(test.weights)
		got := make([]int, len(test.weights))
		for range test.rounds {
			got[robin.Next()]++
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("weights %v, %d times (-want +got):\n%s", test.weights, test.rounds, diff)
		}
	}
}

func TestRoundRobinWithNothingToPick(t *testing.T) {
	for _, weights := range [][]int{nil, {0}, {0, -1, 0}} {
		if got := NewRoundRobin(weights).Next(); got != -1 {
			t.Errorf("weights %v: got %d, want -1", weights, got)
		}
	}
}

func TestSequenceIsSmooth(t *testing.T) {
	order := newSequence([]uint64{5, 1, 1})
	picked := ""
	for i := range uint64(7) {
		picked += string(rune('a' + order.at(i)))
	}
	if picked != "abaaaca" {
		t.Errorf("weights 5, 1, 1 give %s, want abaaaca", picked)
	}
	for _, weights := range [][]uint64{
		{1, 2, 3},
		{10, 1},
		{3, 3, 2, 2, 1},
		{50, 20, 20, 5, 5},
		{400, 9, 1, 1, 1, 1},
		{97, 89},
	} {
		t.Run(fmt.Sprint(weights), func(t *testing.T) { checkSmooth(t, weights, 3) })
	}
}

// checkSmooth demands that after any number of picks no index is more than slack away from its due.
func checkSmooth(t *testing.T, weights []uint64, slack float64) {
	t.Helper()
	order, total := newSequence(weights), uint64(0)
	for _, weight := range weights {
		total += weight
	}
	counts := make([]float64, len(weights))
	for i := range min(3*total, 100000) {
		counts[order.at(i)]++
		for index, weight := range weights {
			due := float64(i+1) * float64(weight) / float64(total)
			if math.Abs(counts[index]-due) > slack {
				t.Fatalf("after %d picks index %d was picked %v times, due are %.1f", i+1, index, counts[index], due)
			}
		}
	}
}

func TestSequenceOfHugeWeights(t *testing.T) {
	for _, weights := range [][]uint64{{1000003, 7}, {1 << 30, 1<<30 - 1, 3}, {999983, 999979, 500009}} {
		order := newSequence(weights)
		if order.order != nil {
			t.Fatalf("weights %v were written down", weights)
		}
		checkSmooth(t, weights, 4)
	}
}

func TestRoundRobinStartsAnywhere(t *testing.T) {
	seen := map[int]bool{}
	for range 200 {
		seen[NewRoundRobin([]int{1, 1, 1, 1}).Next()] = true
	}
	if len(seen) != 4 {
		t.Errorf("200 round robins over 4 began with %d of them", len(seen))
	}
}

func TestRoundRobinIsSharedEvenly(t *testing.T) {
	robin := NewRoundRobin([]int{2, 1, 1})
	var counts [3]atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				counts[robin.Next()].Add(1)
			}
		})
	}
	all.Wait()
	if a, b, c := counts[0].Load(), counts[1].Load(), counts[2].Load(); a != 4000 || b != 2000 || c != 2000 {
		t.Errorf("got %d, %d, %d, want 4000, 2000, 2000", a, b, c)
	}
}
