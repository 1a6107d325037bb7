package harness

import (
	"testing"
	"time"
)

// Await receives from a channel, or detects that it is closed, and fails the test on timeout.
func Await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("%s: not within %v", what, timeout)
		panic("unreachable")
	}
}

// Send sends to a channel, and fails the test on timeout.
func Send[T any](t testing.TB, to chan<- T, value T, what string) {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case to <- value:
	case <-timer.C:
		t.Fatalf("%s: not within %v", what, timeout)
	}
}

// Until polls a condition until it is true, and fails the test on timeout.
func Until(t testing.TB, what string, yes func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for !yes() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", timeout, what)
		}
		<-ticker.C
	}
}

// Eventually polls a condition until it is true, and fails the test with the words of what after the given time.
func Eventually(t testing.TB, within time.Duration, holds func() bool, what func() string) {
	t.Helper()
	limit := time.NewTimer(within)
	defer limit.Stop()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit.C:
			t.Fatalf("not within %v: %s", within, what())
		case <-t.Context().Done():
			t.Fatal("the test is over")
		}
	}
}
