package servicemanager_test

import (
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/servicemanager"
)

// TestWithoutOwn keeps what is also for the process that takes the place of this one.
func TestWithoutOwn(t *testing.T) {
	t.Parallel()
	given := []string{
		"LISTEN_PID=1", "LISTEN_PIDFDID=1", "LISTEN_FDS=1", "LISTEN_FDNAMES=a", "WATCHDOG_PID=1", "WATCHDOG_USEC=1",
		"NOTIFY_SOCKET=/run/notify", "FDSTORE=1", "A",
	}
	got := servicemanager.WithoutOwn(given)
	if want := []string{"WATCHDOG_USEC=1", "NOTIFY_SOCKET=/run/notify", "FDSTORE=1", "A"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if given[0] != "LISTEN_PID=1" {
		t.Error("the given environment has changed")
	}
}
