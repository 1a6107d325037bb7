// Package flood bounds frames of HTTP/2 that cost their sender less than their receiver: resets, PING, SETTINGS,
// PRIORITY, WINDOW_UPDATE of a few bytes, DATA without any, CONTINUATION, unknown types and heads that are refused.
package flood

import (
	"time"

	"github.com/sluiceproxy/sluice/http2/wire"
)

const (
	// Burst is how many such frames a connection may bring at once.
	Burst = 2000
	// refill is how many more it may bring per second.
	refill = 100
)

// Bucket counts such frames of one connection. Work that was done for the peer is worth as many more, so that a busy
// peer is not taken for an attack: peers of gRPC send PING to measure the bandwidth, and some send WINDOW_UPDATE for
// each DATA. It belongs to one goroutine.
type Bucket struct {
	// Earned returns how much work was done since it was called last: requests that were answered, and DATA.
	Earned func() int

	left int
	last time.Time
}

// Begin fills the bucket.
func (b *Bucket) Begin(now time.Time) { b.left, b.last = Burst, now }

// Take counts frames. The error is ENHANCE_YOUR_CALM of the connection.
func (b *Bucket) Take(cost int) error {
	if b.left -= cost; b.left >= 0 {
		return nil
	}
	now := time.Now()
	gained := int(now.Sub(b.last).Seconds()*refill) + b.Earned()
	if b.left += min(gained, Burst); b.left < 0 {
		return wire.Fault(wire.EnhanceYourCalm, "too many frames that cost their sender less than their receiver (section 10.5)")
	}
	b.last = now
	return nil
}
