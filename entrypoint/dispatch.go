package entrypoint

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
)

const (
	// firstBytes is how much is read of a connection to tell what it speaks.
	firstBytes = 1024
	// proxyBytes holds the longest PROXY header that is read.
	proxyBytes = 4096
	// recordHandshake is the first byte of a TLS connection (RFC 8446, section 5.1).
	recordHandshake = 0x16
	// preface is what a client of HTTP/2 sends first (RFC 9113, section 3.4).
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// identify derives what is known of the client from the remote address.
func (c *connection) identify() {
	remote := c.remote.String()
	c.client, _ = canonical.ClientAddr(remote)
	c.text, c.port = "", portOf(remote)
	if c.client.IsValid() {
		c.text = c.client.String()
	}
}

// portOf returns the port of an address, or all of what has none.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// dispatch looks at the first bytes of a connection and hands it to who serves it. It runs on the connection's own goroutine,
// which is then the one that serves HTTP/1.1.
func (e *Entrypoint) dispatch(ctx context.Context, c *connection, s *servers) {
	defer e.survive(c)
	ready, isHTTP2, err := e.prepare(ctx, c)
	switch {
	case err != nil:
		e.deps.Logger.Debug("connection refused", "entrypoint", e.name, "client", c.text, "error", err)
		_ = c.Close()
	case isHTTP2:
		s.feed.ServeConn(ready)
	default:
		s.http1.ServeConn(s.base, ready)
	}
}

// survive keeps a fault below the handlers to the connection that it happened on.
func (e *Entrypoint) survive(c *connection) {
	if cause := recover(); cause != nil {
		e.report(report{level: failure, text: "serving a connection panicked", client: c.text, panic: cause, stack: string(debug.Stack())})
		_ = c.Close()
	}
}

// prepare reads what comes before the first request, and tells what the client speaks.
func (e *Entrypoint) prepare(ctx context.Context, c *connection) (ready net.Conn, isHTTP2 bool, err error) {
	if e.believesProxy(c) {
		if err := e.readProxy(c); err != nil {
			return nil, false, err
		}
	}
	if !e.open.claim(c) {
		return nil, false, errors.New("transport.limits.maxConnectionsPerClient is reached")
	}
	if len(c.replay) == 0 {
		if err := e.readFirst(c); err != nil {
			return nil, false, err
		}
	}
	c.reached(opening)
	if c.replay[0] == recordHandshake && e.selector != nil {
		return e.shakeHands(ctx, c)
	}
	if isHTTP2, err = e.readPreface(c); err != nil {
		return nil, false, err
	}
	return c, isHTTP2, c.Conn.SetReadDeadline(time.Time{})
}

// readPreface reports whether the client begins with the preface of HTTP/2 (RFC 9113, section 3.4), and waits for the rest of it
// as long as it may be one. No request of HTTP/1.1 begins like that.
func (e *Entrypoint) readPreface(c *connection) (bool, error) {
	if c.replay[0] != preface[0] {
		return false, nil
	}
	if err := c.Conn.SetReadDeadline(time.Now().Add(e.settings.opening)); err != nil {
		return false, err
	}
	for len(c.replay) < len(preface) {
		if !strings.HasPrefix(preface, string(c.replay)) {
			return false, nil
		}
		buffer := make([]byte, firstBytes)
		n, err := c.Conn.Read(buffer[copy(buffer, c.replay):])
		if n == 0 {
			return false, fmt.Errorf("incomplete preface of HTTP/2: %w", err)
		}
		c.replay = buffer[:len(c.replay)+n]
	}
	return strings.HasPrefix(string(c.replay[:len(preface)]), preface), nil
}

// readFirst waits for the first bytes.
func (e *Entrypoint) readFirst(c *connection) error {
	var deadline time.Time
	if e.settings.read > 0 {
		deadline = time.Now().Add(e.settings.read)
	}
	if err := c.Conn.SetReadDeadline(deadline); err != nil {
		return err
	}
	buffer := make([]byte, firstBytes)
	n, err := c.Conn.Read(buffer)
	if n == 0 {
		return fmt.Errorf("nothing was sent: %w", err)
	}
	c.replay = buffer[:n]
	return nil
}

// believesProxy reports whether the peer may tell us another address in a PROXY header. Nobody else's is looked at: as the
// first bytes of a request it is answered with 400.
func (e *Entrypoint) believesProxy(c *connection) bool {
	return e.settings.proxyEnabled && (e.settings.proxyAll || e.settings.proxyTrusted.Contains(c.client))
}

// readProxy reads a PROXY header, version 1 or 2, if the peer sent one.
func (e *Entrypoint) readProxy(c *connection) error {
	if err := c.Conn.SetReadDeadline(time.Now().Add(e.settings.opening)); err != nil {
		return err
	}
	reader := bufio.NewReaderSize(c.Conn, proxyBytes)
	header, err := proxyproto.Read(reader)
	switch {
	case errors.Is(err, proxyproto.ErrNoProxyProtocol):
	case err != nil:
		return fmt.Errorf("PROXY header: %w", err)
	case !header.Command.IsLocal():
		source, destination, ok := header.TCPAddrs()
		if ok {
			c.remote, c.local = source, destination
			c.identify()
		}
	}
	c.replay, err = reader.Peek(reader.Buffered())
	return err
}

// shakeHands makes a TLS connection of c, and tells whether the client has chosen HTTP/2 (RFC 9113, section 3.2).
func (e *Entrypoint) shakeHands(ctx context.Context, c *connection) (ready net.Conn, isHTTP2 bool, err error) {
	if err := c.Conn.SetDeadline(time.Now().Add(e.settings.opening)); err != nil {
		return nil, false, err
	}
	secure := tls.Server(c, e.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, false, fmt.Errorf("TLS handshake: %w", err)
	}
	return secure, secure.ConnectionState().NegotiatedProtocol == "h2", c.Conn.SetDeadline(time.Time{})
}

// configForClient selects the options for a ClientHello and notes them in the connection.
func (e *Entrypoint) configForClient(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	serverName := strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
	options, ok := e.selector.SelectTLS(serverName)
	if !ok || options == nil {
		return refusal(), nil
	}
	if c, ok := hello.Conn.(*connection); ok {
		c.handshake = certificate.Connection{Fingerprint: options.Fingerprint, ServerName: serverName}
	}
	return options.Config(), nil
}

// refusal has no certificate, so that crypto/tls answers with the alert unrecognized_name (RFC 6066, section 3).
func refusal() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		SessionTicketsDisabled: true,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil },
	}
}
