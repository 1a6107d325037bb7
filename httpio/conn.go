package httpio

import (
	"errors"
	"io"
	"net"
	"net/http"
)

// HalfCloser is a connection of which the direction to the peer can be closed alone.
type HalfCloser interface {
	// CloseWrite ends the direction to the peer, which may go on sending.
	CloseWrite() error
}

// CloseWrite closes the direction to the peer. The error is [errors.ErrUnsupported] if the value is no [HalfCloser].
func CloseWrite(conn any) error {
	half, ok := conn.(HalfCloser)
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// LingerSetter is a connection whose Close can discard what has not been sent.
type LingerSetter interface {
	// SetLinger is as for [net.TCPConn]: 0 makes Close discard unsent data and reset the connection.
	SetLinger(seconds int) error
}

// SetLinger sets what Close does with unsent data. The error is [errors.ErrUnsupported] if the connection is no
// [LingerSetter].
func SetLinger(conn net.Conn, seconds int) error {
	setter, ok := conn.(LingerSetter)
	if !ok {
		return errors.ErrUnsupported
	}
	return setter.SetLinger(seconds)
}

// ReadAheader is a connection that has bytes which were read from it before.
type ReadAheader interface {
	// ReadAhead returns these bytes once, and nil from then on. They come before everything that Read returns.
	ReadAhead() []byte
}

// UpgradeWriter is a hijacked connection that is a stream of HTTP/2 or HTTP/3 (RFC 8441, RFC 9220).
type UpgradeWriter interface {
	// WriteUpgrade sends the response that switches protocols, in place of the text of HTTP/1.1. It comes before the first
	// Write.
	WriteUpgrade(header http.Header) error
}

// UpgradeWriterOf returns the connection, or one below it, that sends the response itself; nil for a connection of
// HTTP/1.1.
func UpgradeWriterOf(conn net.Conn) UpgradeWriter {
	for {
		if writer, ok := conn.(UpgradeWriter); ok {
			return writer
		}
		layer, ok := conn.(ConnUnwrapper)
		if !ok {
			return nil
		}
		conn = layer.NetConn()
	}
}

// ConnUnwrapper is a connection on top of another, as [crypto/tls.Conn].
type ConnUnwrapper interface {
	NetConn() net.Conn
}

// Bottom returns the lowest connection below, or the connection itself.
func Bottom(conn net.Conn) net.Conn {
	for {
		layer, ok := conn.(ConnUnwrapper)
		if !ok {
			return conn
		}
		conn = layer.NetConn()
	}
}

// SpliceSource is a connection that the kernel may read from directly.
type SpliceSource interface {
	// SpliceFrom returns the TCP connection, or nil if it is none or bytes were read ahead of it.
	SpliceFrom() *net.TCPConn
}

// SpliceSink is a connection that the kernel may write to directly.
type SpliceSink interface {
	// SpliceTo returns the TCP connection, or nil if it is none.
	SpliceTo() *net.TCPConn
}

// Resetter is a connection that can be reset with all that is on top of it. A wrapper of a connection of TLS needs it
// if it has no NetConn.
type Resetter interface {
	// Reset closes the connection so that the peer can't take what it has got for all: TCP is reset, and TLS sends no
	// close_notify.
	Reset() error
}

// Reset closes a connection as [Resetter] does, by its own method or by the lowest connection below. What can't be
// reset is closed.
func Reset(conn io.Closer) error {
	if resetter, ok := conn.(Resetter); ok {
		return resetter.Reset()
	}
	network, ok := conn.(net.Conn)
	if !ok {
		return conn.Close()
	}
	bottom := Bottom(network)
	_ = SetLinger(bottom, 0)
	if bottom == network {
		return network.Close()
	}
	err := bottom.Close()
	_ = network.Close() // It frees what it holds; the way to the peer is closed.
	return err
}
