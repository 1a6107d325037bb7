package timeout

import (
	"errors"
	"io"
	"net"

	"github.com/sluiceproxy/sluice/httpio"
)

// body is the client's body. It records when bytes move.
type body struct {
	io.ReadCloser
	exchange *exchange
}

// Read reads from the client. What was read before has been sent on by now, which is movement, too.
func (b *body) Read(p []byte) (int, error) {
	x := b.exchange
	x.touch()
	x.reading.Store(true)
	defer x.reading.Store(false)
	// expire stores over and then loads reading; here the order is the reverse, so that one of them sees the other.
	if over := x.passed(); over != none && over != idleClient {
		return 0, errOver
	}
	n, err := b.ReadCloser.Read(p)
	b.came()
	if err != nil && !errors.Is(err, io.EOF) {
		if over := x.passed(); over != none && over != idleClient {
			err = errOver
		}
	}
	return n, err
}

// came records that something came from the client.
func (b *body) came() {
	now := int64(b.exchange.since())
	b.exchange.received.Store(now)
	b.exchange.moved.Store(now)
}

// ReadNow reads what has arrived without waiting. It returns 0 bytes if the body below can't.
func (b *body) ReadNow(p []byte) (int, error) {
	ready, ok := b.ReadCloser.(httpio.ReadyReader)
	if !ok || b.exchange.passed() != none {
		return 0, nil
	}
	n, err := ready.ReadNow(p)
	if n > 0 {
		b.came()
	}
	return n, err
}

// conn is a connection that speaks another protocol. It records when bytes move.
type conn struct {
	net.Conn
	exchange *exchange
}

// Read reads from the client.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.exchange.touch()
	return n, err
}

// Write writes to the client.
func (c *conn) Write(p []byte) (int, error) {
	c.exchange.touch()
	n, err := c.Conn.Write(p)
	c.exchange.touch()
	return n, err
}

// CloseWrite ends the direction to the client.
func (c *conn) CloseWrite() error {
	return httpio.CloseWrite(c.Conn)
}
