package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
)

// The life of a connection: it waits for the first byte of a request, or is at one, or has been closed while it waited.
const (
	connBusy int32 = iota
	connIdle
	connClosed
)

// Whether the client is there: it stays, or has sent its last byte and may still read, or has gone.
const (
	clientStays int32 = iota
	clientSilent
	clientGone
)

// graceForRate is how long a client may be slower than MinRate.
const graceForRate = 5 * time.Second

// serverConn is one connection that is being served. Its fields belong to the serving goroutine unless they are atomic;
// while a handler runs, reading belongs to the reader of the body and writing to the writer of the response.
type serverConn struct {
	server *Server
	base   context.Context
	rwc    net.Conn
	// plain is set when the descriptor may be read and written directly; nil below TLS. raw is the descriptor, also
	// below TLS, or nil.
	plain  syscall.RawConn
	raw    syscall.RawConn
	secure *tls.ConnectionState
	remote string
	local  net.Addr

	// in[at:end] is what has been read and not used. readBuf is what in is made of, unless it has grown.
	in      []byte
	at, end int
	readBuf *[readBytes]byte
	// first is read while a connection without readBuf waits.
	first [1]byte
	// armed is the read deadline that is set, or zero where it is not known to be set.
	armed time.Time
	// begun is when the last response was begun, which is when the wait for the next request begins; zero before the
	// first.
	begun   time.Time
	scanner wire.Scanner
	rate    rateMeter
	idle    idleRead

	// opened is when the connection came, and rested how long after that it began to wait for a request, in nanoseconds.
	opened time.Time
	rested atomic.Int64

	state   atomic.Int32
	current atomic.Pointer[requestContext]
	left    atomic.Int32
	watched watched
	ahead   aheadReader
	vector  vector
	// retiring says that the connection ends with its response, or once it is idle.
	retiring atomic.Bool
	// last says that the next write is the last one of the connection, which ends its sending side right behind it.
	last bool

	// next and previous are the neighbours in the server's list of connections, and age is what the last look at the
	// list has left there. The server's mutex guards them.
	next, previous *serverConn
	age            age
}

func newServerConn(ctx context.Context, s *Server, conn net.Conn) *serverConn {
	c := &serverConn{server: s, base: ctx, rwc: conn, local: conn.LocalAddr(), opened: time.Now()}
	if remote := conn.RemoteAddr(); remote != nil {
		c.remote = remote.String()
	}
	if secure, ok := conn.(*tls.Conn); ok {
		state := secure.ConnectionState()
		c.secure = &state
		c.raw = descriptor(httpio.Bottom(conn))
	} else {
		c.plain = descriptor(conn)
		c.raw = c.plain
		c.idle.init(c)
	}
	c.watched.reports.Store(c.raw != nil && s.watch.Able())
	if r, ok := conn.(httpio.ReadAheader); ok {
		if b := r.ReadAhead(); len(b) > 0 {
			c.in, c.end = b[:len(b):len(b)], len(b)
		}
	}
	return c
}

// descriptor returns the way to the descriptor of a connection, or nil.
func descriptor(conn net.Conn) syscall.RawConn {
	if direct, ok := conn.(syscall.Conn); ok {
		if raw, err := direct.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// PeerClosed notes that the client has sent its last byte, or with whole that it has left.
func (c *serverConn) PeerClosed(whole bool) {
	if whole {
		c.gone()
	} else {
		c.silent()
	}
}

// gone notes that the client does not read the answer, and ends the context of the current request.
func (c *serverConn) gone() {
	c.left.Store(clientGone)
	c.cancel()
}

// silent notes that the client has sent its last byte. Like net/http, it takes that for leaving once the body has been
// handed over.
func (c *serverConn) silent() {
	c.left.CompareAndSwap(clientStays, clientSilent)
	// The end of the body looks at left after it has set whole, so that one of both cancels.
	if current := c.current.Load(); current != nil && current.whole.Load() {
		current.Cancel()
	}
}

// cancel ends the context of the current request.
func (c *serverConn) cancel() {
	if current := c.current.Load(); current != nil {
		current.Cancel()
	}
}

// idleFor returns how long the connection has waited for a request; negative if it does not.
func (c *serverConn) idleFor() time.Duration {
	if c.state.Load() != connIdle {
		return -1
	}
	return time.Since(c.opened) - time.Duration(c.rested.Load())
}

// closeIdle closes the connection if it waits for a request, and no part of one has come. It never waits for the
// client: TLS sends close_notify where that fits into the buffer of the socket.
func (c *serverConn) closeIdle() {
	switch {
	case c.secure == nil && c.state.Load() == connIdle && c.pending():
		// The waiting Read is about to return it. Below TLS it may be nothing.
	case !c.state.CompareAndSwap(connIdle, connClosed):
	case c.secure != nil && c.raw == nil: // No socket: it may wait.
		go func() { _ = c.rwc.Close() }()
	case c.secure != nil && !writable(c.raw):
		_ = httpio.Bottom(c.rwc).Close()
	default:
		_ = c.rwc.Close()
	}
}

// serve serves requests until the connection ends.
func (c *serverConn) serve() {
	kept := false
	defer func() {
		c.unwatch()
		if !kept {
			_ = c.rwc.Close()
		}
	}()
	for n := 0; ; n++ {
		end, start, err := c.readHead(n == 0)
		var x *exchange
		if err == nil {
			x = c.server.pool.exchange()
			x.conn, x.start = c, start
			err = x.parse(c.in[c.at : c.at+end])
			c.at += end
			c.release()
		}
		if err != nil {
			if refusal, ok := errors.AsType[*wire.Error](err); ok {
				c.refuse(refusal)
			}
			c.drop()
			return
		}
		next := x.serve()
		if x.recyclable && (next == keepServing || next == closeConn) {
			c.server.pool.putExchange(x)
		}
		switch next {
		case keepHijacked:
			kept = true
			return
		case closeAbandoned:
			return
		case closeConn:
			c.drop()
			return
		case keepServing:
		}
	}
}

// release gives the read buffer back if nothing is in it.
func (c *serverConn) release() {
	if c.at == c.end {
		c.drop()
	}
}

// drop gives the read buffer back, whatever is in it.
func (c *serverConn) drop() {
	c.at, c.end, c.in = 0, 0, nil
	if c.readBuf != nil {
		c.server.pool.putRead(c.readBuf)
		c.readBuf = nil
	}
}

// room makes room for more bytes behind those that are there.
func (c *serverConn) room() {
	switch {
	case c.in == nil:
		c.readBuf = c.server.pool.read()
		c.in = c.readBuf[:]
	case c.end < len(c.in):
	case c.at > 0:
		c.end = copy(c.in, c.in[c.at:c.end])
		c.at = 0
	default:
		grown := make([]byte, max(2*len(c.in), readBytes))
		n := copy(grown, c.in[:c.end])
		c.drop()
		c.in, c.end = grown, n
	}
}

// fill reads once behind what is there, until by at the latest.
func (c *serverConn) fill(by time.Time) error {
	c.room()
	n, err := c.readBy(c.in[c.end:], by)
	c.end += n
	if n > 0 {
		return nil
	}
	return err
}

// readBy reads once, until by at the latest; zero is no limit. The deadline of the connection is only moved when it is
// too late: when an early one fires, the read is repeated, so that connections in use hardly ever set one.
func (c *serverConn) readBy(p []byte, by time.Time) (int, error) {
	for {
		c.arm(by)
		n, err := c.rwc.Read(p)
		if n > 0 || err == nil || !c.early(err, by) {
			return n, err
		}
	}
}

func (c *serverConn) arm(by time.Time) {
	if by.IsZero() || !c.armed.IsZero() && !c.armed.After(by) {
		return
	}
	c.armed = by
	c.setReadDeadline(by)
}

// setReadDeadline sets a deadline of the server's own, which comes behind one that is the handler's. That may come at
// any time: either of both sees the other.
func (c *serverConn) setReadDeadline(by time.Time) {
	_ = c.rwc.SetReadDeadline(by)
	current := c.current.Load()
	if current == nil {
		return
	}
	x := current.exchange
	if x.interrupted.Load() {
		_ = c.rwc.SetReadDeadline(time.Unix(1, 0))
		return
	}
	for user := x.body.userDeadline.Load(); user != nil; {
		_ = c.rwc.SetReadDeadline(*user)
		latest := x.body.userDeadline.Load()
		if latest == user {
			return
		}
		user = latest
	}
}

// early reports whether a read failed because of a deadline that is not due.
func (c *serverConn) early(err error, by time.Time) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.armed = time.Time{}
	if current := c.current.Load(); current != nil {
		if x := current.exchange; x.interrupted.Load() || x.body.userDeadline.Load() != nil {
			return false
		}
	}
	if by.IsZero() {
		c.setReadDeadline(by)
		return true
	}
	return time.Now().Before(by)
}

// after returns the time at which a limit ends; zero is no limit.
func after(start time.Time, limit time.Duration) time.Time {
	if limit <= 0 {
		return time.Time{}
	}
	return start.Add(limit)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// refuse answers a request that the handler never sees.
func (c *serverConn) refuse(reason *wire.Error) {
	text := http.StatusText(reason.Status) + ": " + reason.Error() + "\n"
	b := wire.AppendStatusLine(nil, 1, reason.Status)
	b = c.server.date.append(b, time.Now())
	b = append(b, "Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n"...)
	b = wire.AppendLength(b, int64(len(text)))
	b = append(append(b, "\r\n"...), text...)
	c.setWriteDeadline(time.Now())
	_, err := c.rwc.Write(b)
	if c.server.Refused != nil {
		c.server.Refused(c.rwc, reason)
	}
	if err == nil {
		c.linger()
	}
}

// write writes up to three pieces, and returns how many bytes of them were not written.
func (c *serverConn) write(head, body, end []byte) (unsent int, err error) {
	if len(body) == 0 {
		if c.last && c.plain != nil && c.vector.able() {
			return c.vector.writeLast(c.plain, head)
		}
		n, err := c.rwc.Write(head)
		return len(head) - n, err
	}
	if c.plain != nil && c.vector.able() && len(head)+len(end) > 0 {
		return c.vector.write(c.plain, [3][]byte{head, body, end})
	}
	unsent = len(head) + len(body) + len(end)
	for _, piece := range [...][]byte{head, body, end} {
		if len(piece) == 0 {
			continue
		}
		n, err := c.rwc.Write(piece)
		if unsent -= n; err != nil {
			return unsent, err
		}
	}
	return 0, nil
}

func (c *serverConn) setWriteDeadline(start time.Time) {
	if c.server.WriteTimeout > 0 {
		_ = c.rwc.SetWriteDeadline(start.Add(c.server.WriteTimeout))
	}
}
