package h3

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
)

// Handshakes counts TLS handshakes. Its methods must not block.
type Handshakes interface {
	// HandshakeDone counts one that has succeeded.
	HandshakeDone(state *tls.ConnectionState)
	// HandshakeFailed counts one by an error as crypto/tls returns it.
	HandshakeFailed(err error)
}

// Config is what a Server is made of. Handler, TLS, Admit, OpeningTimeout and Process are required.
type Config struct {
	// Handler answers the requests, whose TLS field is set.
	Handler http.Handler
	// TLS returns the configuration for a handshake, of which only certificates, client certificates, key exchanges and
	// session tickets matter: QUIC has TLS 1.3, and ALPN is h3. The context of the ClientHello derives from Admit's.
	// Options without TLS 1.3 refuse the handshake. nil does, too.
	TLS func(hello *tls.ClientHelloInfo) (*tls.Config, error)
	// Admit is called for the first packet of a connection, before its handshake, with an address that may be spoofed.
	// The contexts of its requests derive from the returned one. ended is called once when the connection has ended.
	// False refuses the connection, and ended is not called.
	Admit func(ctx context.Context, conn *Conn) (derived context.Context, ended func(), ok bool)
	// Crowded, if not nil, reports that a limit is so close for an address that the client must prove it.
	Crowded func(client net.Addr) bool
	// Exceeded, if not nil, gets each request that is not handled, because the decoded heads of its connection or of
	// all connections exceed their budget, or because the connection has too many requests. The connection ends with
	// H3_EXCESSIVE_LOAD.
	Exceeded func(r *http.Request)
	// Handshakes may be nil.
	Handshakes Handshakes
	// Failed, if not nil, counts connections that ended by an error, or were refused.
	Failed func(cause Cause)
	// Dropped, if not nil, counts packets for another process that drains, for which its feed had no room. It must not
	// block.
	Dropped func()
	// MaxHeaderBytes bounds the decoded head of a request, in bytes; 0 is http.DefaultMaxHeaderBytes.
	MaxHeaderBytes int
	// MaxStreams bounds the requests of one connection at a time; 0 is 100.
	MaxStreams int
	// WriteTimeout bounds a response, IdleTimeout the time without a request; 0 is no limit for either, except that a
	// client from which no packet comes is given up after an hour.
	WriteTimeout, IdleTimeout time.Duration
	// OpeningTimeout bounds the handshake.
	OpeningTimeout time.Duration
	// RetryAbove is how many connections per second may begin before clients must prove their addresses; 0 is 200, and
	// a negative number has each client prove it.
	RetryAbove int
	// ExtendedConnect makes of a CONNECT with the :protocol websocket (RFC 9220) the GET by which a client of HTTP/1.1
	// opens a WebSocket, whose writer can be hijacked. Otherwise 2xx is sent as 501, since it would open the tunnel.
	// quic-go announces extended CONNECT in any case.
	ExtendedConnect bool
	// Allow0RTT accepts requests in early data.
	Allow0RTT bool
	// Trace, if not nil, records the events of connections (qlog).
	Trace func(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace
	// Process is shared by all servers of the process.
	Process *Process
}

// forgotten is how long a client is kept from which no packet comes, where idle clients have no limit.
const forgotten = time.Hour

// uniStreams is how many unidirectional streams a client may open: the control stream, two of QPACK, and some of types
// that are reserved to be ignored (RFC 9114, section 6.2.3).
const uniStreams = 16

// quicConfig returns the configuration of connections.
func (s *Server) quicConfig() *quic.Config {
	idle := s.config.IdleTimeout
	if idle <= 0 {
		idle = forgotten
	}
	return &quic.Config{
		// The whole handshake may take twice that.
		HandshakeIdleTimeout:           s.config.OpeningTimeout / 2,
		MaxIdleTimeout:                 idle,
		InitialStreamReceiveWindow:     streamWindow,
		MaxStreamReceiveWindow:         maxStreamWindow,
		InitialConnectionReceiveWindow: connWindow,
		MaxConnectionReceiveWindow:     maxConnWindow,
		AllowConnectionWindowIncrease:  s.growWindow,
		MaxIncomingStreams:             int64(s.config.MaxStreams),
		MaxIncomingUniStreams:          uniStreams,
		Allow0RTT:                      s.config.Allow0RTT,
		Tracer:                         s.trace,
	}
}

// trace notes the identifier with which a connection begins, which quic-go makes known to a tracer alone.
func (s *Server) trace(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	if c := connOf(ctx); c != nil {
		c.mutex.Lock()
		c.drawnID = id
		c.mutex.Unlock()
	}
	if s.config.Trace == nil {
		return nil
	}
	return s.config.Trace(ctx, isClient, id)
}

// growWindow lets the receive window of a connection grow within the budget of the process. Of the connection only the
// context is read, which takes no lock.
func (s *Server) growWindow(q *quic.Conn, delta uint64) bool {
	c := connOf(q.Context())
	if c == nil || !s.config.Process.grow(int64(delta)) {
		return false
	}
	c.window.Add(int64(delta))
	return true
}
