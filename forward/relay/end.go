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
	// from and to are the descriptor where the connection is plain TCP, and nil otherwise.
	from, to syscall.RawConn
	// below is the descriptor of the TCP connection below, or nil.
	below      syscall.RawConn
	eof, reset Reason
}

func newEnd(conn io.ReadWriteCloser, eof, reset Reason) end {
	e := end{conn: conn, eof: eof, reset: reset}
	if rawAccess {
		source, sink := tcpOf(conn)
		e.from, e.to = raw(source), raw(sink)
		if e.below = e.from; e.below == nil {
			if over, ok := conn.(httpio.ConnUnwrapper); ok {
				_, bottom := tcpOf(httpio.Bottom(over.NetConn()))
				e.below = raw(bottom)
			}
		}
		if source == sink {
			e.to = e.from
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

func raw(conn *net.TCPConn) syscall.RawConn {
	if conn == nil {
		return nil
	}
	access, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	return access
}

// close closes the connection, with a reset or in order. An error does not matter.
func (e *end) close(reset bool) {
	if reset {
		_ = httpio.Reset(e.conn)
		return
	}
	_ = e.conn.Close()
}
