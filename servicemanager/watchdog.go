package servicemanager

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Watch answers the watchdog of the service manager (WatchdogSec= of the unit) four times in its interval, each time
// that alive reports true, until ctx ends. The context of alive ends after half an interval. Without a watchdog it
// returns at once.
func (n *Notifier) Watch(ctx context.Context, alive func(ctx context.Context) bool) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.logger.Warn("the watchdog of the service manager is not answered", "error", err)
	}
	if err != nil || interval == 0 {
		return
	}
	ticker := time.NewTicker(max(interval/4, time.Millisecond))
	defer ticker.Stop()
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, interval/2)
		switch {
		case alive(limited):
			n.send(daemon.SdNotifyWatchdog)
		case ctx.Err() == nil:
			n.logger.Error("the watchdog of the service manager is not answered: the process makes no progress",
				"interval", interval.String())
		}
		cancel()
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}
