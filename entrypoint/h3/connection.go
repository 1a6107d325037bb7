package h3

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/httpio/heads"
)

const (
	// lingerTime is how long a connection stays open after GOAWAY without a request, for clients that close it
	// themselves, and for the last packets to arrive.
	lingerTime = time.Second
	// manyRequests is how many times MaxStreams handlers may run for one connection: a client that resets a stream may
	// open the next while the handler has not ended yet.
	manyRequests = 4
	// fewResets is how many requests a client may reset before it counts whether they are more than half of all.
	fewResets = 500
)

// Conn is a connection of HTTP/3, from its first packet on. As a net.Conn it has addresses and Close: bytes are read
// and written by its streams alone.
type Conn struct {
	server        *Server
	local, remote net.Addr
	heads         *heads.Account
	// ended is that of Admit.
	ended func()
	// window is how much the receive windows have grown.
	window atomic.Int64
	// failure is a Cause for which this side ends the connection.
	failure atomic.Uint32
	// quic is set when quic-go has handed the connection over, shaken when its handshake is over.
	quic   atomic.Pointer[quic.Conn]
	shaken atomic.Bool
	inner  http3.Server

	requests, resets atomic.Int64
	// tunnels is how many requests have been hijacked.
	tunnels atomic.Int64

	mutex sync.Mutex
	// active counts requests, rested is since when there is none, and timer ends the connection when that is some time.
	active int
	rested time.Time
	// drawnID is the first destination identifier of the client.
	drawnID  quic.ConnectionID
	retiring bool
	closed   bool
	timer    *time.Timer
}

// connKey is the context key of a *Conn.
type connKey struct{}

// connOf returns the connection of a context, or nil.
func connOf(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// drawn returns the connection identifier that the client has drawn.
func (c *Conn) drawn() []byte {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.drawnID.Bytes()
}

// Read fails: bytes come by streams.
func (c *Conn) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Write fails: bytes go by streams.
func (c *Conn) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

// LocalAddr returns the address of the socket.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address from which the first packet came.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline fails: streams have deadlines.
func (c *Conn) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline fails: streams have deadlines.
func (c *Conn) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline fails: streams have deadlines.
func (c *Conn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// Close ends the connection with H3_NO_ERROR. One whose handshake is under way ends after that.
func (c *Conn) Close() error {
	c.end(http3.ErrCodeNoError)
	return nil
}

// fail ends the connection because of what the client does.
func (c *Conn) fail(cause Cause) {
	c.failure.CompareAndSwap(uint32(CauseNone), uint32(cause))
	c.end(http3.ErrCodeExcessiveLoad)
}

func (c *Conn) end(code http3.ErrCode) {
	c.mutex.Lock()
	c.closed = true
	c.timer.Stop()
	c.mutex.Unlock()
	if q := c.quic.Load(); q != nil {
		_ = q.CloseWithError(quic.ApplicationErrorCode(code), "")
	}
}

// serve serves a connection that quic-go has handed over, until it has ended.
func (c *Conn) serve(q *quic.Conn) {
	c.quic.Store(q)
	c.mutex.Lock()
	closed := c.closed
	c.mutex.Unlock()
	if closed {
		_ = c.Close()
		return
	}
	if c.server.config.Allow0RTT {
		// The connection has come before the end of its handshake.
		go c.awaitHandshake(q)
	} else {
		c.handshakeDone(q)
	}
	c.rest()
	if c.server.stopping() {
		c.retire()
	}
	_ = c.inner.ServeQUICConn(q)
	// It does not close a connection that it refuses because GOAWAY came first.
	_ = c.Close()
}

func (c *Conn) awaitHandshake(q *quic.Conn) {
	select {
	case <-q.HandshakeComplete():
		c.handshakeDone(q)
	case <-q.Context().Done():
	}
}

func (c *Conn) handshakeDone(q *quic.Conn) {
	if c.shaken.Swap(true) {
		return
	}
	c.server.gate.handshakes.Add(-1)
	if counter := c.server.config.Handshakes; counter != nil {
		state := q.ConnectionState().TLS
		counter.HandshakeDone(&state)
	}
}

// finished is called when the connection has ended, with the error of quic-go.
func (c *Conn) finished(err error) {
	s := c.server
	c.mutex.Lock()
	c.closed = true
	c.timer.Stop()
	c.mutex.Unlock()
	s.config.Process.windows.Add(-c.window.Load())
	cause := Cause(c.failure.Load())
	if cause == CauseNone {
		cause = causeOf(err)
	}
	if !c.shaken.Swap(true) {
		s.gate.handshakes.Add(-1)
		if counter := s.config.Handshakes; counter != nil {
			counter.HandshakeFailed(tlsError(err))
		}
	}
	if cause != CauseNone && s.config.Failed != nil {
		s.config.Failed(cause)
	}
	s.remove(c)
	c.ended()
}

// begin counts a request, and reports whether the connection may have it.
func (c *Conn) begin() bool {
	c.requests.Add(1)
	if c.server.left.Load() {
		c.retire()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.active++; c.active == 1 {
		c.timer.Stop()
	}
	return c.active <= manyRequests*c.server.config.MaxStreams
}

// done counts the end of a request. reset says that the client did not wait for it.
func (c *Conn) done(reset bool) {
	if reset {
		if n := c.resets.Add(1); n >= fewResets && 2*n > c.requests.Load() {
			c.fail(CauseResets)
		}
	}
	c.mutex.Lock()
	c.active--
	c.mutex.Unlock()
	c.rest()
}

// rest starts the time after which the connection ends, unless there is a request.
func (c *Conn) rest() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.active > 0 || c.closed {
		return
	}
	c.rested = time.Now()
	switch idle := c.server.config.IdleTimeout; {
	case c.retiring && !c.server.left.Load():
		c.timer.Reset(lingerTime)
	case idle > 0:
		c.timer.Reset(idle)
	}
}

// idleFor returns how long the connection has had no request; negative if it has one, or has not begun.
func (c *Conn) idleFor() time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.active > 0 || c.rested.IsZero() {
		return -1
	}
	return time.Since(c.rested)
}

// expire ends a connection that has been idle for long enough.
func (c *Conn) expire() {
	c.mutex.Lock()
	busy := c.active > 0
	c.mutex.Unlock()
	if !busy {
		_ = c.Close()
	}
}

// retire sends GOAWAY: requests that are under way finish, and the client sends others on another connection.
func (c *Conn) retire() {
	q := c.quic.Load()
	if q == nil || c.server.left.Load() && c.requests.Load() == 0 {
		return // The first request may be under way, which GOAWAY would refuse.
	}
	c.mutex.Lock()
	again := c.retiring
	c.retiring = true
	c.mutex.Unlock()
	if again {
		return
	}
	c.rest()
	go func() { _ = c.inner.Shutdown(q.Context()) }()
}

// ServeHTTP handles a request within the limits of the connection.
func (c *Conn) ServeHTTP(inner http.ResponseWriter, r *http.Request) {
	config := &c.server.config
	fits := c.begin()
	w := &writer{inner: inner, conn: c}
	if config.ExtendedConnect {
		w.upgrade(r, r.Proto)
	}
	release := watch(inner, r, w.tunnel)
	defer func() {
		reset := r.Context().Err() != nil
		release()
		c.done(reset)
	}()
	size := heads.Bytes(r)
	if r.ProtoMajor == 3 {
		r.Proto = "HTTP/3.0" // Extended CONNECT has its protocol there (RFC 9220).
	}
	if !fits || !c.heads.Take(size) {
		c.fail(CauseExcess)
		if config.Exceeded != nil {
			config.Exceeded(r)
		}
		panic(http.ErrAbortHandler)
	}
	defer c.heads.Give(size)
	if expect := r.Header["Expect"]; len(expect) == 1 && strings.EqualFold(expect[0], "100-continue") {
		// The server of HTTP/2 waits for the first Read; here that is another goroutine than that which writes, perhaps.
		delete(r.Header, "Expect")
		w.WriteHeader(http.StatusContinue)
	}
	if config.WriteTimeout > 0 {
		_ = http.NewResponseController(inner).SetWriteDeadline(time.Now().Add(config.WriteTimeout))
	}
	if t := w.tunnel; t != nil {
		completed := false
		defer func() {
			if t.taken.Load() {
				c.tunnels.Add(-1)
				t.end(completed)
			}
		}()
		config.Handler.ServeHTTP(w, r)
		if completed = true; t.taken.Load() {
			return
		}
		if !w.begun {
			w.WriteHeader(http.StatusOK) // The server would send it by itself.
		}
	} else {
		config.Handler.ServeHTTP(w, r)
	}
	if w.cut {
		// The server would end the stream, as if the response were complete.
		panic(http.ErrAbortHandler)
	}
	if r.Method == http.MethodHead {
		// The server would send the length 0 in place of none.
		_ = http.NewResponseController(w).Flush()
	}
}
