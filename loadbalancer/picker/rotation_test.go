package picker

import (
	"math"
	"slices"
	"testing"
)

// turns counts n picks of each index, and of none at the end.
func turns(r *Rotation, choices, n int) []int {
	counts := make([]int, choices+1)
	for range n {
		index := r.Next()
		if index < 0 {
			index = choices
		}
		counts[index]++
	}
	return counts
}

func TestRotation(t *testing.T) {
	state := new(RotationState)
	state.Seed()
	down := map[int]bool{}
	r := NewRotation([]int{5, 3, 2, 0, -1}, func(index int) bool { return !down[index] }, state)
	for _, test := range []struct {
		down []int
		want []int
	}{
		{nil, []int{500, 300, 200, 0, 0, 0}},
		{[]int{1, 2}, []int{1000, 0, 0, 0, 0, 0}},
		{[]int{0}, []int{0, 600, 400, 0, 0, 0}},
		{[]int{3, 4}, []int{500, 300, 200, 0, 0, 0}},
		{[]int{0, 1, 2}, []int{0, 0, 0, 0, 0, 1000}},
	} {
		clear(down)
		for _, index := range test.down {
			down[index] = true
		}
		got := turns(r, 5, 1000)
		for i, want := range test.want {
			if math.Abs(float64(got[i]-want)) > 10 || want == 0 && got[i] != 0 {
				t.Errorf("without %v: got %v, want %v", test.down, got, test.want)
				break
			}
		}
	}
	if all := NewRotation([]int{1, 1}, nil, state); !slices.Equal(turns(all, 2, 10), []int{5, 5, 0}) || !all.Weighs() {
		t.Error("without a function, not all are picked")
	}
	if none := NewRotation([]int{0, 0}, nil, state); none.Next() != -1 || none.Weighs() {
		t.Error("a choice without weight is picked")
	}
}

// TestRotationGoesOn makes a new rotation for each pick.
func TestRotationGoesOn(t *testing.T) {
	state, counts := new(RotationState), make([]int, 3)
	for range 30 {
		counts[NewRotation([]int{1, 1, 1}, nil, state).Next()]++
	}
	if !slices.Equal(counts, []int{10, 10, 10}) {
		t.Errorf("%v", counts)
	}
}
