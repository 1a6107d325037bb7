package h2

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint/heads"
)

const (
	// writeTimeout is how long a client may take to accept any byte that is ready to be sent. Flow control of HTTP/2,
	// by which a client stops a stream, does not count.
	writeTimeout = time.Minute
	// pingAfter is how long a client may be silent before it is sent PING, and pingTimeout how long it may take to
	// answer.
	pingAfter, pingTimeout = time.Minute, 30 * time.Second
)

// Config is what a Server is made of. Handler, OpeningTimeout and ErrorLog are required.
type Config struct {
	// Handler answers the requests. The TLS field of a request is set for connections with TLS.
	Handler http.Handler
	// Exceeded, if not nil, gets each request that is not handled, because the decoded heads of its connection or of
	// all connections exceed their budget. The connection ends with ENHANCE_YOUR_CALM.
	Exceeded func(r *http.Request)
	// ConnContext, if not nil, derives the context of a connection's requests from that of the server. It gets the
	// connection that ServeConn got.
	ConnContext func(ctx context.Context, conn net.Conn) context.Context
	// MaxHeaderBytes bounds the decoded head of a request, in bytes; 0 is http.DefaultMaxHeaderBytes.
	MaxHeaderBytes int
	// WriteTimeout bounds a response, IdleTimeout the time without a stream; 0 is no limit.
	WriteTimeout, IdleTimeout time.Duration
	// OpeningTimeout bounds the connection preface (RFC 9113, section 3.4).
	OpeningTimeout time.Duration
	// HTTP2 has the limits of the protocol. Time-outs that it leaves 0 are set.
	HTTP2 http.HTTP2Config
	// ErrorLog takes one line per failure below the handlers.
	ErrorLog io.Writer
}

// Server serves connections of HTTP/2.
type Server struct {
	config   Config
	inner    http.Server
	heads    *heads.Budget
	listener connListener
	start    sync.Once
	work     sync.WaitGroup
}

// New makes a server. base is the root of the contexts of all requests.
func New(base context.Context, config *Config) *Server {
	s := &Server{config: *config, heads: heads.NewBudget(config.MaxHeaderBytes)}
	s.listener.init()
	limits := config.HTTP2
	if limits.WriteByteTimeout == 0 {
		limits.WriteByteTimeout = writeTimeout
	}
	if limits.SendPingTimeout == 0 {
		limits.SendPingTimeout = pingAfter
	}
	if limits.PingTimeout == 0 {
		limits.PingTimeout = pingTimeout
	}
	protocols := new(http.Protocols)
	// Of TLS the server sees nothing.
	protocols.SetUnencryptedHTTP2(true)
	s.inner = http.Server{
		Handler:                      http.HandlerFunc(s.serveHTTP),
		DisableGeneralOptionsHandler: true,
		WriteTimeout:                 config.WriteTimeout,
		IdleTimeout:                  config.IdleTimeout,
		MaxHeaderBytes:               config.MaxHeaderBytes,
		Protocols:                    protocols,
		HTTP2:                        &limits,
		ErrorLog:                     log.New(config.ErrorLog, "", 0),
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnContext:                  s.connContext,
	}
	return s
}

// ServeConn takes a connection over, which may be a *tls.Conn after its handshake, and returns before its end. The
// contexts of its requests derive from that of New.
func (s *Server) ServeConn(_ context.Context, accepted net.Conn) {
	s.start.Do(func() {
		s.work.Go(func() { _ = s.inner.Serve(&s.listener) })
	})
	c := &conn{Conn: accepted, header: make([]byte, 0, headerBytes)}
	c.heads = s.heads.Account(c.calm)
	if secure, ok := accepted.(*tls.Conn); ok {
		state := secure.ConnectionState()
		c.tls = &state
		if !permitted(&state) {
			_ = accepted.Close()
			return
		}
	}
	if err := accepted.SetReadDeadline(time.Now().Add(s.config.OpeningTimeout)); err != nil {
		_ = accepted.Close()
		return
	}
	s.listener.deliver(c)
}

// EndKeepAlives has connections end with GOAWAY once no stream is open.
func (s *Server) EndKeepAlives() { s.inner.SetKeepAlivesEnabled(false) }

// Shutdown sends GOAWAY on all connections and returns when their streams have ended, or with the error of ctx.
// Connections that come later are closed.
func (s *Server) Shutdown(ctx context.Context) error {
	_ = s.listener.Close()
	return s.inner.Shutdown(ctx)
}

// Close cuts all connections.
func (s *Server) Close() error {
	_ = s.listener.Close()
	err := s.inner.Close()
	s.work.Wait()
	return err
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

// connKey is the context key of a *conn.
type connKey struct{}

func (s *Server) connContext(ctx context.Context, served net.Conn) context.Context {
	c := served.(*conn)
	if s.config.ConnContext != nil {
		ctx = s.config.ConnContext(ctx, c.Conn)
	}
	return context.WithValue(ctx, connKey{}, c)
}

// serveHTTP handles a request within the budgets of decoded heads.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	_ = growStack(0)
	c := r.Context().Value(connKey{}).(*conn)
	r.TLS = c.tls
	size := heads.Bytes(r)
	if !c.heads.Take(size) {
		c.calm()
		if s.config.Exceeded != nil {
			s.config.Exceeded(r)
		}
		panic(http.ErrAbortHandler)
	}
	defer c.heads.Give(size)
	s.config.Handler.ServeHTTP(w, r)
}

// connListener is the listener of the server of net/http: it hands over connections that are open.
type connListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *connListener) init() { l.conns, l.done = make(chan net.Conn), make(chan struct{}) }

// deliver hands a connection over, or closes it after Close.
func (l *connListener) deliver(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		_ = c.Close()
	}
}

// Accept returns the next connection.
func (l *connListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *connListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns an address without meaning: connections have addresses of their own.
func (l *connListener) Addr() net.Addr { return &net.TCPAddr{} }
