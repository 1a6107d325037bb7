package h3

import (
	"net"
	"sync/atomic"
	"time"
)

const (
	// retryAbove is how many connections per second may begin before clients must prove their addresses. A handshake
	// takes about half a millisecond of a processor, so spoofed packets can take a tenth of one.
	retryAbove = 200
	// unproven is how many handshakes may be under way at the same time before that. One holds some 20 KiB.
	unproven = 1000
)

// gate decides which clients must prove their addresses. It takes no lock.
type gate struct {
	// interval is the mean time between two connections at the highest rate, burst how many intervals may come at once.
	interval, burst time.Duration
	// start is the origin of next, which is when the next connection is due at that rate, in nanoseconds.
	start time.Time
	next  atomic.Int64
	// handshakes counts those under way.
	handshakes atomic.Int64
	// crowded says that an address is close to a limit; it may be nil.
	crowded func(client net.Addr) bool
}

func newGate(rate int, crowded func(net.Addr) bool) *gate {
	g := &gate{start: time.Now(), crowded: crowded}
	switch {
	case rate < 0:
		return g
	case rate == 0:
		rate = retryAbove
	}
	g.interval, g.burst = time.Second/time.Duration(rate), time.Second
	return g
}

// verify reports whether a client must prove its address.
func (g *gate) verify(client net.Addr) bool {
	if g.interval == 0 || g.handshakes.Load() >= unproven || g.crowded != nil && g.crowded(client) {
		return true
	}
	for {
		now, next := int64(time.Since(g.start)), g.next.Load()
		due := max(now, next) + int64(g.interval)
		if due-now > int64(g.burst) {
			return true
		}
		if g.next.CompareAndSwap(next, due) {
			return false
		}
	}
}
