package server

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/heads"
	"github.com/sluiceproxy/sluice/httpio/workers"
)

const (
	// DefaultMaxHeaderBytes is the largest head of a request by default, in bytes.
	DefaultMaxHeaderBytes = 1 << 20
	// DefaultMaxStreams is how many streams a client may have open by default.
	DefaultMaxStreams = 100
	// mostIdleWorkers is how many goroutines wait for a request.
	mostIdleWorkers = 256
)

// Server serves connections that others accept. Its fields must not change after the first connection. A Server must
// not be copied.
type Server struct {
	// Handler answers the requests. It is required.
	Handler http.Handler
	// MaxHeaderBytes bounds the decoded head of a request, in bytes as SETTINGS_MAX_HEADER_LIST_SIZE counts them; 0 is
	// DefaultMaxHeaderBytes. More is answered with 431.
	MaxHeaderBytes int
	// MaxHeaderFields bounds how many fields a head has; 0 is no limit. More is answered with 431.
	MaxHeaderFields int
	// ExtendedConnect sends SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441): a CONNECT with the :protocol websocket becomes
	// the GET by which a client of HTTP/1.1 opens a WebSocket, whose writer can be hijacked. Otherwise 2xx is sent as 501,
	// since it would open the tunnel. Other protocols are answered 501. Without it, :protocol is malformed.
	ExtendedConnect bool
	// MaxStreams is SETTINGS_MAX_CONCURRENT_STREAMS; 0 is DefaultMaxStreams. As many handlers of a connection run at a
	// time, those of streams that the client has reset included.
	MaxStreams int
	// MaxWindowBytes bounds what clients may have on their way in bodies, beyond 64 KiB for each connection, in bytes in
	// all; 0 is DefaultMaxWindowBytes. Connections whose clients upload have a window of 1 MiB while there is room, and
	// others 64 KiB.
	MaxWindowBytes int64
	// TableSize is SETTINGS_HEADER_TABLE_SIZE, in bytes; 0 is the default of RFC 9113, 4096. Responses use no table.
	TableSize int
	// ReadTimeout, WriteTimeout, IdleTimeout and OpeningTimeout are described in the package comment; 0 is no limit.
	ReadTimeout, WriteTimeout, IdleTimeout, OpeningTimeout time.Duration
	// MinRate is how many bytes per second a client must send on average while a body is waited for, after five seconds
	// of grace; 0 is no limit.
	MinRate int
	// ConnContext, if not nil, derives the context of a connection's requests from that of ServeConn.
	ConnContext func(ctx context.Context, conn net.Conn) context.Context
	// Refused, if not nil, gets each request that has been refused without the handler, because its head is too large.
	// Status is what it was answered with.
	Refused func(r *http.Request, status int, reason string)
	// Panicked, if not nil, gets panics of the handler other than http.ErrAbortHandler.
	Panicked func(r *http.Request, cause any, stack []byte)
	// Failed, if not nil, gets why a connection has ended by a fault of its client.
	Failed func(conn net.Conn, why Failure)

	pool     pools
	heads    *heads.Budget
	windows  atomic.Int64 // what connections have beyond minWindow
	date     dateClock
	draining atomic.Bool
	start    sync.Once
	workers  *workers.Pool[*exchange]

	mutex sync.Mutex
	conns map[*serverConn]struct{}
	// empty is closed when draining and no connection is left.
	empty chan struct{}
}

// ServeConn serves the requests of a connection, and returns when it has been closed. It takes ownership of conn, which
// may be a *tls.Conn after its handshake. What conn implements of package httpio is used: ReadAhead gives bytes that
// were read before.
//
// The requests' contexts take values and cancellation from ctx.
func (s *Server) ServeConn(ctx context.Context, conn net.Conn) {
	s.start.Do(s.init)
	if s.ConnContext != nil {
		ctx = s.ConnContext(ctx, conn)
	}
	c := newServerConn(ctx, s, conn)
	if c.secure != nil && !permitted(c.secure) || !s.add(c) {
		_ = conn.Close()
		return
	}
	defer s.remove(c)
	c.serve()
}

func (s *Server) init() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.workers = workers.New(mostIdleWorkers, (*exchange).serve)
	s.heads = heads.NewBudget(s.maxHeaderBytes())
}

// EndKeepAlives sends GOAWAY to all clients, whose open streams go on. Each connection ends with its last stream.
func (s *Server) EndKeepAlives() {
	s.draining.Store(true)
	for _, c := range s.open() {
		c.retire()
	}
}

// CloseIdle sends GOAWAY to clients that have had no stream for so long or longer. Their connections end a second later
// at most, unless they open one meanwhile.
func (s *Server) CloseIdle(longer time.Duration) {
	for _, c := range s.open() {
		c.retireIdle(longer)
	}
}

// Shutdown is EndKeepAlives, and returns when no connection is left or ctx has ended, with its error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.EndKeepAlives()
	select {
	case <-s.drained():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close cuts all connections at once, below TLS, and ends the contexts of their requests.
func (s *Server) Close() error {
	s.draining.Store(true)
	s.drained()
	for _, c := range s.open() {
		_ = httpio.Bottom(c.rwc).Close()
	}
	return nil
}

// drained returns what is closed when no connection is left.
func (s *Server) drained() <-chan struct{} {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.empty == nil {
		s.empty = make(chan struct{})
		s.endIfEmpty()
	}
	return s.empty
}

// endIfEmpty ends the goroutines that wait for requests when no connection is left and none will come. The mutex is
// held.
func (s *Server) endIfEmpty() {
	if s.empty == nil || len(s.conns) > 0 {
		return
	}
	close(s.empty)
	if s.workers != nil {
		s.workers.End()
	}
}

func (s *Server) open() []*serverConn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

func (s *Server) add(c *serverConn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.empty != nil && len(s.conns) == 0 {
		return false
	}
	if s.conns == nil {
		s.conns = map[*serverConn]struct{}{}
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) remove(c *serverConn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.conns, c)
	s.endIfEmpty()
}

func (s *Server) maxHeaderBytes() int {
	if s.MaxHeaderBytes > 0 {
		return s.MaxHeaderBytes
	}
	return DefaultMaxHeaderBytes
}

func (s *Server) tableSize() int {
	if s.TableSize > 0 {
		return s.TableSize
	}
	return defaultTableSize
}

func (s *Server) maxStreams() int {
	if s.MaxStreams > 0 {
		return s.MaxStreams
	}
	return DefaultMaxStreams
}

// permitted reports whether TLS is good enough for HTTP/2 (RFC 9113, section 9.2): TLS 1.3, or TLS 1.2 with a cipher
// suite that is not prohibited by appendix A.
func permitted(state *tls.ConnectionState) bool {
	if state.Version != tls.VersionTLS12 {
		return state.Version > tls.VersionTLS12
	}
	switch state.CipherSuite {
	case tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256:
		return true
	}
	return false
}
