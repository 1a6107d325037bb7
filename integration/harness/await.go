package harness

import (
	"testing"
	"time"
)

// Await receives from a channel, or sees it closed, and fails the test when that does not happen within 20 s.
func Await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("%s: not within %v", what, patience)
		panic("unreachable")
	}
}

// Hand sends to a channel, and fails the test when nobody receives within 20 s.
func Hand[T any](t testing.TB, to chan<- T, value T, what string) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case to <- value:
	case <-timer.C:
		t.Fatalf("%s: not within %v", what, patience)
	}
}

// Until repeats a question until the answer is yes, and fails the test when that takes too long.
func Until(t testing.TB, what string, yes func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for !yes() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		<-ticker.C
	}
}
