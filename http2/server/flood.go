package server

import (
	"time"

	"github.com/sluiceproxy/sluice/http2/wire"
)

const (
	// burst is how many frames that cost the client less than the server a connection may bring at once, and refill how
	// many more per second: resets by either side, PING, SETTINGS, PRIORITY, GOAWAY, WINDOW_UPDATE of a few bytes, DATA
	// without any, with more padding or on a stream that was reset, CONTINUATION, unknown types, and requests that are
	// refused. Each request that is answered and each DATA that is sent is worth one more, so that a busy client is not
	// taken for an attack: clients of gRPC send PING to measure the bandwidth, and some send WINDOW_UPDATE for each DATA.
	burst  = 2000
	refill = 100
	// tinyUpdate is below what increment WINDOW_UPDATE counts.
	tinyUpdate = 64
	// settingsCost is how many bytes of SETTINGS count as one more frame, refusedCost how many of a request's decoded head
	// that is not served.
	settingsCost, refusedCost = 64, 64 << 10
)

// bucket counts frames of a connection that cost the client less than the server. It belongs to the goroutine that
// reads.
type bucket struct {
	conn *serverConn
	left int
	last time.Time
}

func (b *bucket) init(c *serverConn) { b.conn, b.left, b.last = c, burst, c.start }

// take counts a frame of a kind.
func (b *bucket) take(kind Cause, cost int) error {
	if b.left -= cost; b.left >= 0 {
		return nil
	}
	now := time.Now()
	gained := int(now.Sub(b.last).Seconds()*refill) + b.conn.takeAnswered()
	if b.left += min(gained, burst); b.left < 0 {
		b.conn.cause = kind
		return wire.Fault(wire.EnhanceYourCalm, "too many frames that cost a client less than a server (section 10.5)")
	}
	b.last = now
	return nil
}

// takeAnswered returns how many requests were answered, and DATA sent, since the last time.
func (c *serverConn) takeAnswered() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := c.life.answered
	c.life.answered = 0
	return n
}
