package accesslog

import (
	"context"
	"time"
)

// watch logs when lines begin to be dropped and when that is over, until ctx ends.
func (o *output) watch(ctx context.Context) {
	var reported uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.trouble:
		}
		reason := "lines come faster than they are written"
		if cause := o.cause.Load(); cause != nil {
			reason = (*cause).Error()
		}
		o.logger.Warn("access log lines are dropped", "output", o.name, "reason", reason)
		if !o.recovered(ctx) {
			return
		}
		o.troubled.Store(false)
		dropped := o.dropped.Load()
		o.logger.Info("access log lines are written again", "output", o.name, "dropped", dropped-reported)
		reported = dropped
	}
}

// recovered returns when lines have been written, and none dropped, for a while. It reports false when ctx ends before.
func (o *output) recovered(ctx context.Context) bool {
	ticker := time.NewTicker(quiet)
	defer ticker.Stop()
	dropped, deliveries := o.dropped.Load(), o.deliveries.Load()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		now := o.dropped.Load()
		if now == dropped && o.deliveries.Load() != deliveries {
			return true
		}
		if now != dropped {
			dropped, deliveries = now, o.deliveries.Load()
		}
	}
}
