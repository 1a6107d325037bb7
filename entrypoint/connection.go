package entrypoint

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/httpio"
)

// phase is how far a connection has come.
type phase int32

const (
	// silent connections have not sent a byte.
	silent phase = iota
	// opening connections are sending what comes before their first request.
	opening
	// active connections have brought a request to the handler.
	active
)

// connection is an accepted connection. It replays the bytes that the dispatcher has read, carries the addresses that a
// PROXY header gives, and lives until it is closed, also when it has been hijacked.
type connection struct {
	net.Conn
	owner *registry
	// id is the number in the directory; the registry sets it.
	id     uint64
	local  net.Addr
	remote net.Addr
	// address is remote as a text, client the address in it, text and port the same as texts, key what is counted
	// against the limit per client.
	address string
	client  netip.Addr
	text    string
	port    string
	key     netip.Addr
	counted bool
	// counter counts the open connections of its kind, or is nil.
	counter  Connections
	accepted time.Time
	// handshake is written once, by the TLS handshake, before any request.
	handshake certificate.Connection
	// modern says that its options allow TLS 1.3, without which there is no QUIC. It is written with handshake.
	modern bool
	// quic is set for HTTP/3, and proxied where a PROXY header may give other addresses.
	quic, proxied bool

	// protocol and serverName are set before described, for the directory.
	protocol, serverName string
	described            atomic.Bool
	// closing is set when the connection is to end with the response to its next request.
	closing atomic.Bool
	// streamed is set for connections of TCP routers, which count as open until they are reported.
	streamed atomic.Bool
	// handshaking is the TLS handshake of a server that is under way; nil without one.
	handshaking *handshaking
	// announcing is set while a PROXY header is read of which a part has come.
	announcing atomic.Bool
	replay     []byte
	phase      atomic.Int32
	requests   atomic.Int64
	closed     atomic.Bool
}

// connectionKey is the context key of a *connection.
type connectionKey struct{}

// LocalAddr returns the address that the client connected to, as a trusted PROXY header has it.
func (c *connection) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the client, as a trusted PROXY header has it.
func (c *connection) RemoteAddr() net.Addr { return c.remote }

// Read returns the bytes that the dispatcher has looked at, and then those of the network.
func (c *connection) Read(p []byte) (int, error) {
	if len(c.replay) > 0 {
		n := copy(p, c.replay)
		if c.replay = c.replay[n:]; len(c.replay) == 0 {
			c.replay = nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

// Write writes to the network. The first bytes of a handshake are written when it has been computed.
func (c *connection) Write(p []byte) (int, error) {
	if c.handshaking != nil {
		c.handshaking.Leave()
	}
	return c.Conn.Write(p)
}

// ReadAhead hands over the bytes that the dispatcher has looked at. Read and reads from the
// descriptor begin behind them.
func (c *connection) ReadAhead() []byte {
	ahead := c.replay
	c.replay = nil
	return ahead
}

// SpliceTo returns the connection of the network where it is TCP, which the kernel can splice to; otherwise nil.
func (c *connection) SpliceTo() *net.TCPConn {
	tcp, _ := c.Conn.(*net.TCPConn)
	return tcp
}

// SpliceFrom is SpliceTo for reading, and nil as long as there are bytes that were read ahead.
func (c *connection) SpliceFrom() *net.TCPConn {
	if len(c.replay) > 0 {
		return nil
	}
	return c.SpliceTo()
}

// SyscallConn gives access to the descriptor, past Read and Write: nothing is counted in them.
func (c *connection) SyscallConn() (syscall.RawConn, error) {
	if direct, ok := c.Conn.(syscall.Conn); ok {
		return direct.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// SetLinger says what Close does with bytes that the client has not confirmed.
func (c *connection) SetLinger(seconds int) error {
	return httpio.SetLinger(c.Conn, seconds)
}

// ReadFrom keeps the way from socket to socket or from file to socket open that the operating system offers.
func (c *connection) ReadFrom(source io.Reader) (int64, error) {
	return httpio.ReadFrom(c.Conn, source)
}

// CloseWrite ends the sending side of the connection.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(httpio.HalfCloser); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Close ends the connection.
func (c *connection) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	err := c.Conn.Close()
	if !c.streamed.Load() {
		c.owner.remove(c)
	}
	return err
}

// silentSince reports whether the connection was accepted before a time and has sent nothing, a PROXY header apart.
func (c *connection) silentSince(before time.Time) bool {
	return phase(c.phase.Load()) == silent && c.accepted.Before(before)
}

// reached notes how far the connection has come.
func (c *connection) reached(p phase) {
	if c.phase.Load() < int32(p) {
		c.phase.Store(int32(p))
		c.owner.poke()
	}
}
