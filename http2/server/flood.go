package server

import "github.com/sluiceproxy/sluice/http2/flood"

const (
	// tinyUpdate is below what increment WINDOW_UPDATE counts.
	tinyUpdate = 64
	// settingsCost is how many bytes of SETTINGS count as one more frame, refusedCost how many of a request's decoded head
	// that is not served.
	settingsCost, refusedCost = 64, 64 << 10
)

// bucket counts frames of a connection that cost the client less than the server. Each request that is answered and
// each DATA that is sent pays for one. It belongs to the goroutine that reads.
type bucket struct {
	flood.Bucket

	conn *serverConn
}

func (b *bucket) init(c *serverConn) {
	b.conn, b.Earned = c, c.takeAnswered
	b.Begin(c.start)
}

// take counts a frame of a kind.
func (b *bucket) take(kind Cause, cost int) error {
	err := b.Take(cost)
	if err != nil {
		b.conn.cause = kind
	}
	return err
}

// takeAnswered returns how many requests were answered, and DATA sent, since the last time.
func (c *serverConn) takeAnswered() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := c.life.answered
	c.life.answered = 0
	return n
}
