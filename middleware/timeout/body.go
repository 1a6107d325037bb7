package timeout

import (
	"errors"
	"io"
	"net"

	"github.com/sluiceproxy/sluice/httpio"
)

// body is the client's body, of which is noted when it moves.
type body struct {
	io.ReadCloser
	exchange *exchange
}

// Read reads from the client. Who reads has handed on what was read before, so that something moves here too.
func (b *body) Read(p []byte) (int, error) {
	x := b.exchange
	x.touch()
	x.reading.Store(true)
	defer x.reading.Store(false)
	// Whoever ends the time looks the other way round, so that one of both sees the other.
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

// came notes that something came from the client.
func (b *body) came() {
	now := int64(b.exchange.since())
	b.exchange.received.Store(now)
	b.exchange.moved.Store(now)
}

// ReadNow reads what has come without waiting, where the server can tell; 0 bytes without an error say that nothing has.
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

// conn is a connection that speaks another protocol, of which is noted when it moves.
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

// CloseWrite tells the client that nothing more will come.
func (c *conn) CloseWrite() error {
	return httpio.CloseWrite(c.Conn)
}
