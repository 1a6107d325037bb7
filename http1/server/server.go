package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/epoll"
)

// DefaultMaxHeaderBytes is the largest head of a request by default, in bytes.
const DefaultMaxHeaderBytes = 1 << 20

// Server serves connections that others accept. Its fields must not change after the first connection. A Server must
// not be copied.
type Server struct {
	// Handler answers the requests. It is required.
	Handler http.Handler
	// MaxHeaderBytes bounds the head of a request with its first line, in bytes; 0 is DefaultMaxHeaderBytes. More is
	// answered with 431, or 414 when the first line alone is too long.
	MaxHeaderBytes int
	// MaxHeaderFields bounds how many field lines a head has; 0 is no limit. More is answered with 431.
	MaxHeaderFields int
	// ReadTimeout, WriteTimeout and IdleTimeout are described in the package comment; 0 is no limit.
	ReadTimeout, WriteTimeout, IdleTimeout time.Duration
	// MinRate is how many bytes per second a client must send on average while a head or body is waited for, after five
	// seconds of grace for each; 0 is no limit.
	MinRate int
	// ConnContext, if not nil, derives the context of a connection's requests from that of ServeConn.
	ConnContext func(ctx context.Context, conn net.Conn) context.Context
	// Refused, if not nil, gets each request that has been answered without the handler, because its head is broken or
	// too large.
	Refused func(conn net.Conn, reason *wire.Error)
	// Panicked, if not nil, gets panics of the handler other than http.ErrAbortHandler. The connection is cut after
	// any.
	Panicked func(r *http.Request, cause any, stack []byte)

	pool     pools
	watch    epoll.Watch
	date     dateClock
	draining atomic.Bool
	mutex    sync.Mutex
	// conns is the first in the list of all connections, the youngest.
	conns *serverConn
	// sweep watches connections that have become old enough for it, and sweeping says that it will fire.
	sweep    *time.Timer
	sweeping bool
	// empty is closed when draining and no connection is left.
	empty chan struct{}
}

// ServeConn serves the requests of a connection, one after the other, and returns when the connection has been closed
// or hijacked. It takes ownership of conn, which may be a *tls.Conn after its handshake.
//
// What conn implements is used: SyscallConn (or NetConn, to find it below TLS) to notice that the client has left and
// to wait without a buffer; ReadAhead() []byte, which gives bytes that were read before and come first; CloseWrite and
// ReadFrom.
//
// The requests' contexts take values and cancellation from ctx.
func (s *Server) ServeConn(ctx context.Context, conn net.Conn) {
	if s.ConnContext != nil {
		ctx = s.ConnContext(ctx, conn)
	}
	c := newServerConn(ctx, s, conn)
	if !s.add(c) {
		_ = conn.Close()
		return
	}
	defer s.remove(c)
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, func() { c.gone() })
	}
	defer stop()
	c.serve()
}

// Shutdown ends connections that are idle at once and the others after their current request, and returns when none is
// left or ctx has ended, with its error. Connections that come meanwhile serve what they have already sent. A hijacked
// connection counts as long as its handler runs.
func (s *Server) Shutdown(ctx context.Context) error {
	empty, open := s.drain()
	for _, c := range open {
		c.closeIdle()
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// EndKeepAlives ends keep-alive: each response from now on is the last of its connection. Idle connections stay until
// Shutdown.
func (s *Server) EndKeepAlives() { s.draining.Store(true) }

// drain ends keep-alive, and returns what is closed when no connection is left and those that are open. None is closed
// under the lock: TLS may wait for its client.
func (s *Server) drain() (empty <-chan struct{}, open []*serverConn) {
	s.draining.Store(true)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.empty == nil {
		s.empty = make(chan struct{})
		if s.conns == nil {
			close(s.empty)
		}
	}
	return s.empty, s.open()
}

// open returns the connections. The mutex is held.
func (s *Server) open() (open []*serverConn) {
	for c := s.conns; c != nil; c = c.next {
		open = append(open, c)
	}
	return open
}

// mostClosed is how many connections CloseIdle closes: their clients may connect again at once.
const mostClosed = 1000

// CloseIdle closes connections that have waited for a request for so long or longer, the oldest first and 1,000 at
// most. Those that have not sent one yet are among them.
func (s *Server) CloseIdle(longer time.Duration) {
	s.mutex.Lock()
	open := s.open()
	s.mutex.Unlock()
	closed := 0
	for _, c := range slices.Backward(open) {
		if closed == mostClosed {
			return
		}
		// With TLS too, what has come may be a request.
		if c.idleFor() >= longer && !c.pending() {
			c.closeIdle()
			closed++
		}
	}
}

// ending reports whether Shutdown has closed what was idle.
func (s *Server) ending() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.empty != nil
}

// Close cuts all connections at once, below TLS, and ends the contexts of their requests. Hijacked ones are cut as
// long as their handler runs.
func (s *Server) Close() error {
	_, open := s.drain()
	for _, c := range open {
		_ = httpio.Bottom(c.rwc).Close()
		// The system reports only what the other end does.
		c.gone()
	}
	return nil
}

func (s *Server) add(c *serverConn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.empty != nil && s.conns == nil {
		return false
	}
	if c.next = s.conns; c.next != nil {
		c.next.previous = c
	}
	s.conns = c
	if c.watched.reports.Load() {
		c.age = newborn
		s.armSweep()
	}
	return true
}

func (s *Server) remove(c *serverConn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c.previous != nil {
		c.previous.next = c.next
	} else {
		s.conns = c.next
	}
	if c.next != nil {
		c.next.previous = c.previous
	}
	if s.empty != nil && s.conns == nil {
		close(s.empty)
	}
}

func (s *Server) limits() wire.Limits {
	limits := wire.Limits{HeadBytes: s.MaxHeaderBytes, Fields: s.MaxHeaderFields}
	if limits.HeadBytes <= 0 {
		limits.HeadBytes = DefaultMaxHeaderBytes
	}
	return limits
}
