package main

import "github.com/coreos/go-systemd/v22/daemon"

// reportState sends a state, such as daemon.SdNotifyReady, to the service manager that has started Sluice
// (sd_notify(3)). Without one (no NOTIFY_SOCKET in the environment) nothing is sent. A manager that cannot be reached
// would stop Sluice when the start takes too long, so that is logged.
func (s *system) reportState(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.logger.Warn("the service manager is not notified", "state", state, "error", err)
	}
}
