package entrypoint

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/router/tcp"
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
	c.address = c.remote.String()
	c.client, _ = forwarded.ClientAddr(c.address)
	c.text, c.port = "", portOf(c.address)
	if c.client.IsValid() {
		c.text = c.client.String()
	}
}

// portOf returns the port of an address, or all of what has none.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// connServer serves connections; it may return before the end of one.
type connServer interface {
	ServeConn(ctx context.Context, conn net.Conn)
}

// dispatch finds out what protocol a connection speaks, and hands it to the server of that. It runs on the connection's
// own goroutine, on which HTTP/1.1 is served.
func (e *Entrypoint) dispatch(ctx, base context.Context, c *connection, servers servers) {
	defer e.survive(c)
	ready, server, err := e.prepare(ctx, c, servers)
	if err != nil {
		if why, ok := errors.AsType[refusalReason](err); ok {
			e.refuseConnection(why, c.text)
		} else {
			e.deps.Logger.Debug("connection refused", "entrypoint", e.name, "client", c.text, "error", err)
		}
		_ = c.Close()
		return
	}
	c.describe(server, servers)
	if _, ok := server.(streamServer); ok {
		// Of other protocols than HTTP the entrypoint does not see when the first request comes.
		c.reached(active)
		c.streamed.Store(true)
		base = ctx // It ends those that are left when draining is over.
	}
	server.ServeConn(base, ready)
}

// survive keeps a fault below the handlers to the connection that it happened on.
func (e *Entrypoint) survive(c *connection) {
	if cause := recover(); cause != nil {
		stack := string(debug.Stack())
		e.report(report{level: failure, text: "serving a connection panicked", client: c.text, panic: cause, stack: stack})
		_ = c.Close()
		c.owner.remove(c)
	}
}

// prepare reads what comes before the first request, and returns the server for the client.
func (e *Entrypoint) prepare(ctx context.Context, c *connection, servers servers) (net.Conn, connServer, error) {
	// A PROXY header of other peers is not read: as the first bytes of a request it is answered with 400.
	if c.proxied {
		if err := e.readProxy(c); err != nil {
			return nil, nil, err
		}
		if why := e.pace(c); why != admitted {
			return nil, nil, why
		}
	}
	if !e.open.claim(c) {
		return nil, nil, maxConnectionsPerClient
	}
	needs := e.streamNeeds()
	if needs&tcp.NeedsUnread != 0 {
		if server, ok := e.stream(c, tcp.Unread, clientHello{}); ok {
			return c, server, c.Conn.SetReadDeadline(time.Time{})
		}
	}
	if len(c.replay) == 0 {
		if err := e.readFirst(c, needs); err != nil {
			return nil, nil, err
		}
		needs = e.streamNeeds() // It may have taken long.
	}
	c.reached(opening)
	if needs&tcp.NeedsHello != 0 && c.replay[0] == tcp.SSLRequest[0] {
		if server, err := e.startTLS(c); err != nil || server != nil {
			return c, server, err
		}
	}
	if c.replay[0] == recordHandshake && (e.selector != nil || needs&tcp.NeedsHello != 0) {
		return e.prepareTLS(ctx, c, needs, servers)
	}
	server, err := e.preparePlain(c, needs, servers)
	if err != nil {
		return nil, nil, err
	}
	return c, server, c.Conn.SetReadDeadline(time.Time{})
}

// streamNeeds returns for which stages there are TCP routers.
func (e *Entrypoint) streamNeeds() tcp.Needs {
	if e.deps.Streams == nil {
		return 0
	}
	return e.deps.Streams.StreamNeeds()
}

// prepareTLS hands a connection with TLS to the TCP router that takes it, and otherwise ends TLS. The ClientHello is
// read beforehand only where it is needed for that.
func (e *Entrypoint) prepareTLS(
	ctx context.Context, c *connection, needs tcp.Needs, servers servers,
) (net.Conn, connServer, error) {
	if needs&tcp.NeedsHello != 0 {
		hello, err := e.readHello(c)
		if err != nil {
			return nil, nil, fmt.Errorf("ClientHello: %w", err)
		}
		if !e.isChallenge(hello.protocols) {
			if server, ok := e.stream(c, tcp.TLS, hello); ok {
				return c, server, c.Conn.SetReadDeadline(time.Time{})
			}
		}
	}
	if e.selector == nil {
		return nil, nil, errors.New("no TLS is served")
	}
	secure, protocol, err := e.shakeHands(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return secure, servers.of(protocol), nil
}

// preparePlain returns the server of a connection without TLS: the TCP router that takes it, else HTTP.
func (e *Entrypoint) preparePlain(c *connection, needs tcp.Needs, servers servers) (connServer, error) {
	http := false
	if needs&tcp.NeedsFirst != 0 {
		var err error
		// A client of another protocol may wait for its server.
		if http, err = e.sniffed(c, sniffHTTP); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
	}
	if needs&tcp.NeedsPlain != 0 && !http {
		if server, ok := e.stream(c, tcp.Plain, clientHello{}); ok {
			return server, nil
		}
	}
	prior, err := e.sniffed(c, sniffHTTP2)
	if err != nil {
		return nil, err
	}
	if prior {
		return servers.http2, nil
	}
	return servers.http1, nil
}

// sniffed reports whether the first bytes match a protocol, and reads more of them while they do not suffice. They do
// not match if the client ends its direction. One that sends no more within the time of the TLS handshake is an error.
func (e *Entrypoint) sniffed(c *connection, sniff func(first []byte) match) (bool, error) {
	for waiting := false; ; {
		switch found := sniff(c.replay); {
		case found == matches:
			return true, nil
		case found == noMatch || len(c.replay) >= firstBytes:
			return false, nil
		}
		if !waiting {
			waiting = true
			if err := c.Conn.SetReadDeadline(time.Now().Add(e.settings.opening)); err != nil {
				return false, err
			}
		}
		switch err := e.readMore(c); {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("incomplete first bytes: %w", err)
		}
	}
}

// readMore reads behind the first bytes.
func (e *Entrypoint) readMore(c *connection) error {
	buffer := make([]byte, firstBytes)
	n, err := c.Conn.Read(buffer[copy(buffer, c.replay):])
	if n == 0 {
		return err
	}
	c.replay = buffer[:len(c.replay)+n]
	return nil
}

// readFirst waits for the first bytes.
func (e *Entrypoint) readFirst(c *connection, needs tcp.Needs) error {
	var deadline time.Time
	if e.settings.read > 0 {
		deadline = time.Now().Add(e.settings.read)
	}
	if err := c.Conn.SetReadDeadline(deadline); err != nil {
		return err
	}
	size := firstBytes
	if needs&tcp.NeedsHello != 0 {
		size = helloBytes
	}
	buffer := make([]byte, size)
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
	_, err := reader.Peek(1)
	c.announcing.Store(err == nil)
	// What follows the header ends the silence.
	defer func() { c.announcing.Store(len(c.replay) > 0) }()
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
	conn, err := e.handshake(ctx, c, e.tls)
	if err != nil {
		return nil, "", err
	}
	if protocol = conn.ConnectionState().NegotiatedProtocol; e.isChallenge([]string{protocol}) {
		return nil, "", errValidated
	}
	return conn, protocol, c.Conn.SetDeadline(time.Time{})
}

// handshake makes the TLS handshake of a server on c. The deadline of the connection stays set.
func (e *Entrypoint) handshake(ctx context.Context, c *connection, config *tls.Config) (*tls.Conn, error) {
	if err := c.Conn.SetDeadline(time.Now().Add(e.settings.opening)); err != nil {
		return nil, err
	}
	c.handshaking = &handshaking{ctx: ctx, places: e.handshakes.places, longest: e.settings.opening}
	defer func() {
		c.handshaking.Leave()
		c.handshaking = nil
	}()
	if config != e.tls { // That one begins in configForClient, since the whole ClientHello may not have come.
		if err := e.handshakes.begin(c); err != nil {
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
	}
	ctx = certificate.WithPlace(ctx, c.handshaking)
	secure := tls.Server(c, config)
	counter := e.deps.Handshakes
	if err := secure.HandshakeContext(ctx); err != nil {
		if _, refused := errors.AsType[refusalReason](err); counter != nil && !refused {
			counter.HandshakeFailed(err)
		}
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	if counter != nil {
		state := secure.ConnectionState()
		counter.HandshakeDone(&state)
	}
	return secure, nil
}

// configForClient selects the options for a ClientHello and notes them in the connection.
func (e *Entrypoint) configForClient(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if e.isChallenge(hello.SupportedProtos) {
		return e.deps.Challenges.ChallengeConfig(), nil
	}
	c, _ := hello.Conn.(*connection)
	if err := e.handshakes.begin(c); err != nil {
		return nil, err
	}
	return e.selectTLS(c, serverName(hello)), nil
}

// selectTLS selects the options for an SNI and notes them in the connection, if there is one.
func (e *Entrypoint) selectTLS(c *connection, name string) *tls.Config {
	options, ok := e.selector.SelectTLS(name)
	if !ok || options == nil {
		return refusal()
	}
	config := options.Config()
	if c != nil {
		c.handshake = options.Connection(name)
		c.modern = config.MaxVersion == 0 || config.MaxVersion >= tls.VersionTLS13
	}
	return config
}

// refusal has no certificate, so that crypto/tls answers with the alert unrecognized_name (RFC 6066, section 3).
func refusal() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		SessionTicketsDisabled: true,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil },
	}
}
