package main

import "testing"

// TestTurnsAreAddedUp has a turn with few requests that somebody else on the machine has made dear: it counts for few.
func TestTurnsAreAddedUp(t *testing.T) {
	got := combined([]turn{
		{values: map[metric]float64{cpu: 40, p99: 1}, requests: 900},
		{values: map[metric]float64{cpu: 140, p99: 9}, requests: 100},
		{values: map[metric]float64{cpu: 50, p99: 2}, requests: 1000},
	})
	if got[cpu] != 50 || got[p99] != 2 {
		t.Errorf("the turns say together %v", got)
	}
}
