package entrypoint

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/sluiceproxy/sluice/forwarded"
)

const (
	// firstBytes is how much is read of a connection to detect its protocol.
	firstBytes = 1024
	// proxyBytes holds the longest PROXY header that is read.
	proxyBytes = 4096
	// recordHandshake is the first byte of a TLS connection (RFC 8446, section 5.1).
	recordHandshake = 0x16
)

// identify derives what is known of the client from the remote address.
func (c *connection) identify() {
	remote := c.remote.String()
	c.client, _ = forwarded.ClientAddr(remote)
	c.text, c.port = "", portOf(remote)
	if c.client.IsValid() {
		c.text = c.client.String()
	}
}

// portOf returns the port of an address, or all of what has none.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// dispatch finds out what protocol a connection speaks, and hands it to the server of that. It runs on the connection's
// own goroutine, on which HTTP/1.1 is served.
func (e *Entrypoint) dispatch(ctx, base context.Context, c *connection, servers map[string]ConnServer) {
	defer e.survive(c)
	ready, protocol, err := e.prepare(ctx, c)
	if err != nil {
		e.deps.Logger.Debug("connection refused", "entrypoint", e.name, "client", c.text, "error", err)
		_ = c.Close()
		return
	}
	if protocol != protocolHTTP1 && protocol != protocolHTTP2 {
		// Of other protocols the entrypoint does not see when the first request comes.
		c.reached(serving)
	}
	servers[protocol].ServeConn(base, ready)
}

// survive keeps a fault below the handlers to the connection that it happened on.
func (e *Entrypoint) survive(c *connection) {
	if cause := recover(); cause != nil {
		stack := string(debug.Stack())
		e.report(report{level: failure, text: "serving a connection panicked", client: c.text, panic: cause, stack: stack})
		_ = c.Close()
	}
}

// prepare reads what comes before the first request, and returns the protocol of the client.
func (e *Entrypoint) prepare(ctx context.Context, c *connection) (ready net.Conn, protocol string, err error) {
	// A PROXY header of other peers is not read: as the first bytes of a request it is answered with 400.
	if s := &e.settings; s.proxyEnabled && (s.proxyAll || s.proxyTrusted.Contains(c.client)) {
		if err := e.readProxy(c); err != nil {
			return nil, "", err
		}
	}
	if !e.open.claim(c) {
		return nil, "", errors.New("transport.limits.maxConnectionsPerClient is reached")
	}
	if len(c.replay) == 0 {
		if err := e.readFirst(c); err != nil {
			return nil, "", err
		}
	}
	c.reached(opening)
	if c.replay[0] == recordHandshake && (e.selector != nil || e.deps.Passthrough != nil) {
		return e.prepareTLS(ctx, c)
	}
	if protocol, err = e.sniff(c); err != nil {
		return nil, "", err
	}
	return c, protocol, c.Conn.SetReadDeadline(time.Time{})
}

// prepareTLS hands a connection with TLS on as it is where a protocol takes it, and otherwise ends TLS. The ClientHello
// is read beforehand only where it is needed for that.
func (e *Entrypoint) prepareTLS(ctx context.Context, c *connection) (ready net.Conn, protocol string, err error) {
	if pass := e.deps.Passthrough; pass != nil {
		hello, err := e.readHello(ctx, c)
		if err != nil {
			return nil, "", fmt.Errorf("ClientHello: %w", err)
		}
		if protocol = pass.PassTLS(hello); protocol != "" && !e.isChallenge(hello.Protocols) {
			if !e.serves(protocol) {
				return nil, "", fmt.Errorf("no server for the protocol %q", protocol)
			}
			return c, protocol, c.Conn.SetReadDeadline(time.Time{})
		}
	}
	if e.selector == nil {
		return nil, "", errors.New("no TLS is served")
	}
	return e.shakeHands(ctx, c)
}

// serves reports whether a protocol has a server.
func (e *Entrypoint) serves(protocol string) bool {
	return protocol == protocolHTTP1 || protocol == protocolHTTP2 ||
		slices.ContainsFunc(e.deps.Protocols, func(p Protocol) bool { return p.Name == protocol })
}

// sniff returns the first protocol that matches a connection without TLS, or HTTP/1.1. The protocols are decided in
// their order, so that more is read while one needs it.
func (e *Entrypoint) sniff(c *connection) (protocol string, err error) {
	for waiting := false; ; {
		match := NoMatch
		for i := range e.sniffed {
			if match = e.sniffed[i].Sniff(c.replay); match == Matches {
				return e.sniffed[i].Name, nil
			}
			if match == NeedsMore {
				break
			}
		}
		if match != NeedsMore || len(c.replay) >= firstBytes {
			return protocolHTTP1, nil
		}
		if !waiting {
			waiting = true
			if err := c.Conn.SetReadDeadline(time.Now().Add(e.settings.opening)); err != nil {
				return "", err
			}
		}
		buffer := make([]byte, firstBytes)
		n, err := c.Conn.Read(buffer[copy(buffer, c.replay):])
		if n == 0 {
			return "", fmt.Errorf("incomplete first bytes: %w", err)
		}
		c.replay = buffer[:len(c.replay)+n]
	}
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

// shakeHands makes a TLS connection of c, and returns the protocol that was negotiated (RFC 7301).
func (e *Entrypoint) shakeHands(ctx context.Context, c *connection) (ready net.Conn, protocol string, err error) {
	if err := c.Conn.SetDeadline(time.Now().Add(e.settings.opening)); err != nil {
		return nil, "", err
	}
	secure := tls.Server(c, e.tls)
	counter := e.deps.Handshakes
	if err := secure.HandshakeContext(ctx); err != nil {
		if counter != nil {
			counter.HandshakeFailed(err)
		}
		return nil, "", fmt.Errorf("TLS handshake: %w", err)
	}
	state := secure.ConnectionState()
	if counter != nil {
		counter.HandshakeDone(&state)
	}
	if protocol = state.NegotiatedProtocol; e.isChallenge([]string{protocol}) {
		return nil, "", errValidated
	}
	if !e.serves(protocol) {
		protocol = protocolHTTP1
	}
	return secure, protocol, c.Conn.SetDeadline(time.Time{})
}

// configForClient selects the options for a ClientHello and notes them in the connection.
func (e *Entrypoint) configForClient(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if e.isChallenge(hello.SupportedProtos) {
		return e.deps.Challenges.ChallengeConfig(), nil
	}
	name := serverName(hello)
	options, ok := e.selector.SelectTLS(name)
	if !ok || options == nil {
		return refusal(), nil
	}
	if c, ok := hello.Conn.(*connection); ok {
		c.handshake = options.Connection(name)
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
