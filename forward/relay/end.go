package relay

import (
	"io"
	"net"
	"syscall"

	"github.com/sluiceproxy/sluice/httpio"
)

// end is one of the two connections.
type end struct {
	conn io.ReadWriteCloser
	// tcp is the descriptor of the TCP connection, or of the one below TLS, or nil.
	tcp syscall.RawConn
	// plain is the TCP connection where the descriptor is read directly, otherwise nil. plainOut is whether it is written
	// directly.
	plain      *net.TCPConn
	plainOut   bool
	eof, reset Reason
}

func newEnd(conn io.ReadWriteCloser, eof, reset Reason) end {
	e := end{conn: conn, eof: eof, reset: reset}
	if !rawAccess {
		return e
	}
	source, sink := tcpOf(conn)
	tcp := source
	if tcp == nil {
		tcp = sink
	}
	if over, ok := conn.(httpio.ConnUnwrapper); ok && tcp == nil {
		_, tcp = tcpOf(httpio.Bottom(over.NetConn()))
	}
	if tcp == nil {
		return e
	}
	if access, err := tcp.SyscallConn(); err == nil {
		e.tcp, e.plainOut = access, sink == tcp
		if source == tcp {
			e.plain = source
		}
	}
	return e
}

// tcpOf returns the TCP connection that the kernel can read, and that it can write to, or nil.
func tcpOf(conn io.ReadWriteCloser) (source, sink *net.TCPConn) {
	if direct, ok := conn.(*net.TCPConn); ok {
		return direct, direct
	}
	if from, ok := conn.(httpio.SpliceSource); ok {
		source = from.SpliceFrom()
	}
	if to, ok := conn.(httpio.SpliceSink); ok {
		sink = to.SpliceTo()
	}
	return source, sink
}

// close closes the connection, with a reset or in order. An error does not matter.
func (e *end) close(reset bool) {
	if reset {
		_ = httpio.Reset(e.conn)
		return
	}
	_ = e.conn.Close()
}
