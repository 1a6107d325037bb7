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
	state *requestState
}

// Read reads from the client. What was read before has been sent on by now, which is movement, too.
func (b *body) Read(p []byte) (int, error) {
	s := b.state
	s.touch()
	s.reading.Store(true)
	defer s.reading.Store(false)
	// expire stores over and then loads reading; here the order is the reverse, so that one of them sees the other.
	if over := s.passed(); over != none && over != idleClient {
		return 0, errOver
	}
	n, err := b.ReadCloser.Read(p)
	b.came()
	if err != nil && !errors.Is(err, io.EOF) {
		if over := s.passed(); over != none && over != idleClient {
			err = errOver
		}
	}
	return n, err
}

// came records that something came from the client.
func (b *body) came() {
	now := int64(b.state.since())
	b.state.received.Store(now)
	b.state.moved.Store(now)
}

// ReadNow reads what has arrived without waiting. It returns 0 bytes if the body below can't.
func (b *body) ReadNow(p []byte) (int, error) {
	ready, ok := b.ReadCloser.(httpio.ReadyReader)
	if !ok || b.state.passed() != none {
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
	state *requestState
}

// Read reads from the client.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.state.touch()
	return n, err
}

// Write writes to the client.
func (c *conn) Write(p []byte) (int, error) {
	c.state.touch()
	n, err := c.Conn.Write(p)
	c.state.touch()
	return n, err
}

// CloseWrite ends the direction to the client.
func (c *conn) CloseWrite() error {
	return httpio.CloseWrite(c.Conn)
}

// NetConn returns the connection that was taken over.
func (c *conn) NetConn() net.Conn { return c.Conn }
