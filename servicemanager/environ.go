package servicemanager

import (
	"slices"
	"strings"
)

// WithoutOwn returns an environment without what the service manager has set for this process alone: sockets that it
// has passed (LISTEN_*), and the PID that must answer its watchdog. It is for a process that takes the place of this
// one.
func WithoutOwn(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID":
			return true
		}
		return false
	})
}
