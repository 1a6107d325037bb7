package entrypoint

import (
	"context"
	"time"
)

const (
	// reducedShare is the part of the idle time-out for which connections are kept while time-outs are reduced, and
	// reducedLimit the time where there is none.
	reducedShare = 0.2
	reducedLimit = 30 * time.Second
	// reduceInterval is the time between two looks at the connections.
	reduceInterval = time.Second
	// mostSilent is how many silent connections are closed at a time at most: their clients may connect again at once.
	mostSilent = 1000
)

// idleCloser closes connections that have been idle for so long or longer.
type idleCloser interface {
	CloseIdle(longer time.Duration)
}

// reduceTimeouts closes connections that have been idle, or have not sent a byte, for a part of the time-out while
// time-outs are reduced, until ctx ends.
func (e *Entrypoint) reduceTimeouts(ctx context.Context, servers servers) {
	longer := time.Duration(reducedShare * float64(e.settings.idle))
	if longer <= 0 {
		longer = reducedLimit
	}
	var closers []idleCloser
	for _, server := range servers.all() {
		if closer, ok := server.(idleCloser); ok {
			closers = append(closers, closer)
		}
	}
	if e.http3 != nil {
		closers = append(closers, e.http3)
	}
	ticker := time.NewTicker(reduceInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if !e.deps.Timeouts.ReducesTimeouts() {
			continue
		}
		for _, closer := range closers {
			closer.CloseIdle(longer)
		}
		before, left := time.Now().Add(-longer), mostSilent
		e.open.each(func(c *connection) {
			if left > 0 && c.silentSince(before) && !c.announcing.Load() {
				_ = c.Close()
				left--
			}
		})
	}
}
