package entrypoint

import (
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
)

// phase is how far a connection has come.
type phase int32

const (
	// silent connections have not sent a byte.
	silent phase = iota
	// opening connections are sending what comes before their first request.
	opening
	// serving connections have brought a request to the handler.
	serving
)

const (
	// lingerTime and lingerBytes bound how long a connection that was shut with unread bytes is read after its end, so that
	// the answer is not lost to a reset (RFC 9112, section 9.6).
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// connection is an accepted connection. It replays the bytes that the dispatcher has read, carries the addresses that a
// PROXY header told, and lives until it is closed, also when it has been hijacked.
type connection struct {
	net.Conn
	owner  *registry
	local  net.Addr
	remote net.Addr
	// client is the address behind remote, key what is counted against the limit per client.
	client   netip.Addr
	text     string
	key      netip.Addr
	counted  bool
	accepted time.Time
	// handshake is written once, by the TLS handshake, before any request.
	handshake certificate.Connection

	replay   []byte
	phase    atomic.Int32
	requests atomic.Int64
	closed   atomic.Bool
	shut     atomic.Bool
	mute     atomic.Bool
}

// connectionKey is the context key of a *connection.
type connectionKey struct{}

// LocalAddr returns the address that the client connected to, as a trusted PROXY header tells it.
func (c *connection) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the client, as a trusted PROXY header tells it.
func (c *connection) RemoteAddr() net.Addr { return c.remote }

// Read returns the bytes that the dispatcher has looked at, and then those of the network.
func (c *connection) Read(p []byte) (int, error) {
	if c.shut.Load() {
		return 0, io.EOF
	}
	if len(c.replay) > 0 {
		n := copy(p, c.replay)
		if c.replay = c.replay[n:]; len(c.replay) == 0 {
			c.replay = nil
		}
		return n, nil
	}
	n, err := c.Conn.Read(p)
	if c.shut.Load() {
		return 0, io.EOF
	}
	return n, err
}

// ReadFrom keeps the way from socket to socket or from file to socket open that the operating system offers.
func (c *connection) ReadFrom(source io.Reader) (int64, error) {
	if direct, ok := c.Conn.(io.ReaderFrom); ok {
		return direct.ReadFrom(source)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, source)
}

// stopReading ends what can be read from the connection for ever, and wakes up who waits for it. The rest of a body that
// nobody read can then never be taken for the next request.
func (c *connection) stopReading() {
	c.shut.Store(true)
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
}

// stopWriting ends what can be written to the connection for ever, and wakes up who waits for the client to read.
func (c *connection) stopWriting() {
	c.mute.Store(true)
	_ = c.Conn.SetWriteDeadline(time.Unix(1, 0))
}

// SetWriteDeadline sets the time-out of writing, unless writing has ended.
func (c *connection) SetWriteDeadline(t time.Time) error {
	if c.mute.Load() {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetReadDeadline sets the time-out of reading, unless reading has ended.
func (c *connection) SetReadDeadline(t time.Time) error {
	if c.shut.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline sets the time-outs of reading, unless reading has ended, and of writing.
func (c *connection) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// CloseWrite tells the client that nothing more will be sent.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Close ends the connection. Where the client may still be sending, what it sends is read for a moment.
func (c *connection) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !c.shut.Load() || c.mute.Load() || !ok || half.CloseWrite() != nil {
		return c.end()
	}
	go c.linger()
	return nil
}

func (c *connection) linger() {
	_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	_ = c.end()
}

// cut ends the connection at once.
func (c *connection) cut() {
	c.stopWriting()
	if c.closed.Swap(true) {
		_ = c.Conn.Close()
		return
	}
	_ = c.end()
}

func (c *connection) end() error {
	err := c.Conn.Close()
	c.owner.remove(c)
	return err
}

// reached notes how far the connection has come.
func (c *connection) reached(p phase) {
	if c.phase.Load() < int32(p) {
		c.phase.Store(int32(p))
		c.owner.poke()
	}
}
