//go:build !race

package relay_test

import (
	"testing"
)

// mostIdleBytes is what an idle connection may hold: two net.Conn and what the relay keeps.
const mostIdleBytes = 4 << 10

// mostPipes is how many pipes 40 connections may use one after the other.
const mostPipes = 40

// TestBytesAllocateNothing counts the allocations of the process.
func TestBytesAllocateNothing(t *testing.T) {
	g := newRig(t, setup{options: forEver()})
	out, in := make([]byte, 1), make([]byte, 1)
	allocations := testing.AllocsPerRun(1000, func() {
		for _, way := range [][2]conn{{g.client, g.server}, {g.server, g.client}} {
			if _, err := way[0].Write(out); err != nil {
				t.Fatal(err)
			}
			if _, err := way[1].Read(in); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations for a byte there and back", allocations)
	}
}
