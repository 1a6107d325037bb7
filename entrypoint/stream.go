package entrypoint

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Streams chooses the connections that TCP routers take. Its methods are called at every connection, so that a reload
// takes effect without a new listener.
type Streams interface {
	// StreamNeeds returns for which stages there are TCP routers; 0 without any.
	StreamNeeds() tcp.Needs
	// RouteStream returns what serves a connection of which a stage is known; nil is for HTTP.
	RouteStream(stage tcp.Stage, c *rule.Connection) tcp.Stream
}

// streamServer serves one connection by a TCP router.
type streamServer struct {
	entrypoint *Entrypoint
	stream     tcp.Stream
	in         *tcp.Incoming
}

// ServeConn serves the connection, and reports what became of it when it has ended.
func (s streamServer) ServeConn(ctx context.Context, conn net.Conn) {
	s.in.Conn = conn
	s.stream.ServeStream(ctx, s.in, s.ended)
}

func (s streamServer) ended() {
	c := bottom(s.in.Conn)
	_ = s.in.Conn.Close()
	result := &s.in.Result
	s.entrypoint.finished(&telemetry.Record{
		Start: s.in.Accepted, Duration: time.Since(s.in.Accepted), Protocol: telemetry.ProtocolTCP,
		Entrypoint: cmp.Or(result.EntryPoint, s.entrypoint.name),
		Client:     c.text, ClientPort: c.port, ServerName: s.in.ServerName,
		TLS: result.TLS, Router: result.Router, Service: result.Service, Endpoint: result.Endpoint, Tries: result.Attempts,
		BytesReceived: result.FromClient, BytesSent: result.FromServer,
		End: result.End, Code: result.Code, Reason: result.Reason,
		Generation: result.Generation, Observe: result.Observe,
	})
	c.owner.remove(c)
}

// stream returns what serves a connection by a TCP router at a stage; it is not ok where none takes the connection.
func (e *Entrypoint) stream(c *connection, stage tcp.Stage, hello clientHello) (server connServer, ok bool) {
	in := &tcp.Incoming{
		Connection: rule.NewConnection(hello.serverName, hello.protocols, c.client), EntryPoint: e.name, Accepted: c.accepted,
		Secure: stage == tcp.TLS || stage == tcp.StartTLS, StartTLS: stage == tcp.StartTLS,
	}
	stream := e.deps.Streams.RouteStream(stage, &in.Connection)
	if stream == nil {
		return nil, false
	}
	in.Handshake = func(ctx context.Context, config *tls.Config) (*tls.Conn, error) {
		secure, err := e.handshake(ctx, c, config)
		if err != nil {
			return nil, err
		}
		return secure, secure.SetDeadline(time.Time{})
	}
	return streamServer{entrypoint: e, stream: stream, in: in}, true
}

// errUnencrypted is what a client sent behind its SSLRequest before that was answered: the bytes would count as if they
// had come encrypted.
var errUnencrypted = errors.New("unencrypted bytes behind an SSLRequest of PostgreSQL")

// sniffPostgres recognises the request for encryption of a client of PostgreSQL.
func sniffPostgres(first []byte) match {
	for i := range min(len(first), len(tcp.SSLRequest)) {
		if first[i] != tcp.SSLRequest[i] && first[i] != tcp.GSSENCRequest[i] {
			return noMatch
		}
	}
	if len(first) < len(tcp.SSLRequest) {
		return needsMore
	}
	return matches
}

// errRefusedGSSAPI is a client that requests encryption by GSSAPI again after it was refused.
var errRefusedGSSAPI = errors.New("a second GSSENCRequest of PostgreSQL")

// startTLS answers a client of PostgreSQL that requests encryption, up to its ClientHello, and returns what serves it:
// nil for one that goes on without. Encryption by GSSAPI is refused once, and such clients request TLS next.
func (e *Entrypoint) startTLS(c *connection) (connServer, error) {
	for refused := false; ; refused = true {
		switch found, err := e.sniffed(c, sniffPostgres); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, nil // Another protocol, whose client waits for its server.
		case err != nil || !found:
			return nil, err
		}
		gssapi := string(c.replay[:len(tcp.GSSENCRequest)]) == tcp.GSSENCRequest
		if len(c.replay) > len(tcp.SSLRequest) {
			return nil, errUnencrypted
		}
		if gssapi && refused {
			return nil, errRefusedGSSAPI
		}
		c.replay = nil
		answer := tcp.SSLAccepted[0]
		if gssapi {
			answer = 'N'
		}
		if err := c.Conn.SetDeadline(time.Now().Add(e.settings.opening)); err != nil {
			return nil, err
		}
		if _, err := c.Conn.Write([]byte{answer}); err != nil {
			return nil, err
		}
		if err := e.readMore(c); err != nil {
			return nil, err
		}
		if err := c.Conn.SetDeadline(time.Time{}); err != nil {
			return nil, err
		}
		if !gssapi {
			break
		}
	}
	if c.replay[0] != recordHandshake {
		return nil, errors.New("no TLS behind an SSLRequest of PostgreSQL")
	}
	hello, err := e.readHello(c)
	if err != nil {
		return nil, fmt.Errorf("ClientHello: %w", err)
	}
	server, ok := e.stream(c, tcp.StartTLS, hello)
	if !ok {
		return nil, fmt.Errorf("no TCP router with TLS takes the server name %q", hello.serverName)
	}
	return server, c.Conn.SetReadDeadline(time.Time{})
}
