package servicemanager

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// monotonic returns the assignment of the time of a message. A unit of Type=notify-reload ignores a RELOADING=1 that is
// older than its signal.
func monotonic() []string {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return nil
	}
	return []string{fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000)}
}
