package balance

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestMain runs the tests, or one of the endpoints that they talk to.
func TestMain(m *testing.M) {
	if setting := os.Getenv(endpointVariable); setting != "" {
		if err := runEndpoint(setting); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(harness.Main(m))
}

const (
	// timeout bounds every wait, also on a busy machine.
	timeout = 2 * time.Minute
	// pause is the time between two looks.
	pause = 2 * time.Millisecond
)

// until looks again and again until something is so, and fails the test when that takes too long.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so within %v", what, timeout)
		}
		<-ticker.C
	}
}

// pass lets time pass, while others do something.
func pass(t *testing.T, long time.Duration) {
	t.Helper()
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
