package remote

import (
	"context"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

// retryInterval is the pause before a watch that was interrupted begins anew.
const retryInterval = 500 * time.Millisecond

// Watch calls follow until ctx ends, again after each interruption. follow returns why it was interrupted, and calls
// begun when it has read all values. An interruption and its end are logged once.
func Watch(ctx context.Context, address *Address, logger telemetry.Logger, follow func(begun func()) error) {
	reason := ""
	begun := func() {
		if reason != "" {
			logger.Info("certificates are watched again", "storage", address.String())
			reason = ""
		}
	}
	for ctx.Err() == nil {
		err := follow(begun)
		if text := address.Wrap(err).Error(); ctx.Err() == nil && text != reason {
			reason = text
			logger.Warn("certificates are not watched, the last known ones are used", "reason", text)
		}
		timer := time.NewTimer(retryInterval)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}
