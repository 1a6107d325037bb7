package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTurns demands that one load goes on at a time, and all of them at the end.
func TestTurns(t *testing.T) {
	var loads []*os.Process
	for range 3 {
		load := exec.CommandContext(t.Context(), "sleep", "60")
		if err := load.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = load.Process.Kill()
			_ = load.Wait()
		})
		loads = append(loads, load.Process)
	}
	ticks, over, done := make(chan time.Time), make(chan time.Time), make(chan error, 1)
	go func() { done <- alternate(t.Context(), loads, ticks, over) }()
	for n := range 5 {
		awaitStates(t, loads, func(i int) bool { return i != n%3 })
		ticks <- time.Time{}
	}
	over <- time.Time{}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	awaitStates(t, loads, func(int) bool { return false })
}

// awaitStates waits until exactly those processes are stopped that should be.
func awaitStates(t *testing.T, loads []*os.Process, stopped func(int) bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-ticker.C {
		right := 0
		for i, load := range loads {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(load.Pid) + "/stat")
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(text), ") ")
			if strings.HasPrefix(rest, "T") == stopped(i) {
				right++
			}
		}
		if right == len(loads) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d loads are in the state that they should be in", right, len(loads))
		}
	}
}
