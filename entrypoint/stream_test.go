package entrypoint_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/static"
)

// lines is a TCP router that answers each line with the same line behind a mark, until "bye".
type lines struct {
	mark string
	// tls ends TLS as a server behind the router would, options as the router does.
	tls     *tls.Config
	options *tls.Config
}

func (l *lines) ServeStream(ctx context.Context, in *tcp.Incoming, done func()) {
	defer done()
	conn := in.Conn
	in.Result.Router, in.Result.End = l.mark, "client_eof"
	switch {
	case l.tls != nil:
		conn = tls.Server(conn, l.tls)
	case l.options != nil:
		secure, err := in.Handshake(ctx, l.options)
		if err != nil {
			in.Result.Reason = err.Error()
			return
		}
		conn = secure
	}
	if in.StartTLS && l.tls != nil {
		in.Result.Reason = "passed"
	}
	for reader := bufio.NewReader(conn); ; {
		line, err := reader.ReadString('\n')
		in.Result.FromClient += int64(len(line))
		if err != nil || line == "bye\n" {
			return
		}
		_, _ = io.WriteString(conn, l.mark+" "+line)
	}
}

// choice is a table of TCP routers.
type choice struct {
	needs tcp.Needs
	route func(stage tcp.Stage, c *rule.Connection) tcp.Stream
}

func (c choice) StreamNeeds() tcp.Needs { return c.needs }

func (c choice) RouteStream(stage tcp.Stage, conn *rule.Connection) tcp.Stream {
	return c.route(stage, conn)
}

// startStreams serves TCP routers beside HTTP.
func startStreams(
	t *testing.T, change func(*static.EntryPoint), needs tcp.Needs, route func(tcp.Stage, *rule.Connection) tcp.Stream,
) *served {
	t.Helper()
	return startDeps(t, http.HandlerFunc(hello), change, func(deps *entrypoint.Dependencies) {
		deps.Streams = choice{needs, route}
	})
}

// exchange sends a line and reads the answer.
func exchange(t *testing.T, conn net.Conn, line, want string) {
	t.Helper()
	say(t, conn, line)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("%q is answered with %q, %v", line, got, err)
	}
}

// TestServerFirst serves a connection of which nothing was read.
func TestServerFirst(t *testing.T) {
	t.Parallel()
	var seen []tcp.Stage
	s := startStreams(t, nil, tcp.NeedsUnread|tcp.NeedsPlain, func(stage tcp.Stage, c *rule.Connection) tcp.Stream {
		seen = append(seen, stage)
		if c.Client != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("client %s", c.Client)
		}
		return greeter{}
	})
	conn := s.dial()
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "220 ready\n" {
		t.Errorf("got %q, %v", line, err)
	}
	s.stop()
	s.wait()
	if !slices.Equal(seen, []tcp.Stage{tcp.Unread}) {
		t.Errorf("stages %v", seen)
	}
}

// greeter speaks first.
type greeter struct{}

func (greeter) ServeStream(_ context.Context, in *tcp.Incoming, done func()) {
	defer done()
	_, _ = io.WriteString(in.Conn, "220 ready\n")
}

// TestPlainStreams has TCP routers before HTTP on one port: those that take all, or none where HTTP comes first.
func TestPlainStreams(t *testing.T) {
	t.Parallel()
	own := &lines{mark: "own"}
	taking := func(stage tcp.Stage, _ *rule.Connection) tcp.Stream {
		if stage == tcp.Plain {
			return own
		}
		return nil
	}
	s := startStreams(t, nil, tcp.NeedsPlain|tcp.NeedsHello, taking)
	conn := s.dial()
	exchange(t, conn, "GET / HTTP/1.1\n", "own GET / HTTP/1.1\n")
	_ = conn.Close() // Draining would wait for it.
	conn = s.dial()
	exchange(t, conn, "a\n", "own a\n")
	// The connection is served until it ends.
	s.stop()
	exchange(t, conn, "b\n", "own b\n")
	say(t, conn, "bye\n")
	s.wait()

	s = startStreams(t, nil, tcp.NeedsPlain|tcp.NeedsFirst, taking)
	for _, protocol := range []string{"h1", "h2c"} {
		client, url := s.client(protocol)
		if _, body := do(t, client, http.MethodGet, url, nil); body != "hello" {
			t.Errorf("%s: got %q", protocol, body)
		}
	}
	for _, first := range []string{"GET key\n", "QUIT\n", "\x00\n", "SET a b\n", "AVERYLONGWORDWITHOUTEND / \n"} {
		exchange(t, s.dial(), first, "own "+first)
	}
	for _, request := range []string{
		"GET / HTTP/1.1", "M-SEARCH * HTTP/1.1", "CONNECT a:1 HTTP/1.1", "GET http://a/ HTTP/1.1",
	} {
		if got := s.raw(request + "\r\nHost: a\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 ") {
			t.Errorf("%s: got %q", request, got)
		}
	}
	// A part of a word.
	conn = s.dial()
	say(t, conn, "GE")
	exchange(t, conn, "\n", "own GE\n")
}

// inRecords splits the first record that is written into records of a few bytes, and these into segments.
type inRecords struct {
	net.Conn
	size int
	once sync.Once
}

func (c *inRecords) Write(p []byte) (int, error) {
	split := false
	c.once.Do(func() { split = true })
	if !split {
		return c.Conn.Write(p)
	}
	for rest := p[5:]; len(rest) > 0; {
		n := min(c.size, len(rest))
		record := append([]byte{p[0], p[1], p[2], 0, byte(n)}, rest[:n]...)
		rest = rest[n:]
		for _, half := range [][]byte{record[:3], record[3:]} {
			if _, err := c.Conn.Write(half); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// TestPassthrough passes TLS through by the SNI, whatever pieces the ClientHello comes in.
func TestPassthrough(t *testing.T) {
	t.Parallel()
	seen := make(chan rule.Connection, 100)
	config := newTLS(t, nil, certificate.NewTickets()).Config().Clone()
	config.NextProtos = nil
	s := startStreams(t, nil, tcp.NeedsHello, func(_ tcp.Stage, c *rule.Connection) tcp.Stream {
		seen <- *c
		if strings.HasSuffix(c.ServerName, ".through.example") {
			return &lines{mark: "passed", tls: config}
		}
		return nil
	})
	// A ClientHello with a key for ML-KEM and many names is longer than one segment.
	names := []string{"lines/1"}
	for range 10 {
		names = append(names, strings.Repeat("n", 200))
	}
	for _, size := range []int{0, 1, 100} {
		for name, want := range map[string]string{"A.Through.Example": "passed a\n", "a.here.example": "HTTP/1.1 400"} {
			var below net.Conn = s.dial()
			if size > 0 {
				below = &inRecords{Conn: below, size: size}
			}
			config := &tls.Config{ServerName: name, InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
			if name == "A.Through.Example" {
				config.NextProtos = names
			}
			conn := tls.Client(below, config)
			exchange(t, conn, "a\n", want)
			if c := <-seen; c.ServerName != strings.ToLower(name) || !slices.Equal(c.Protocols, config.NextProtos) {
				t.Errorf("%d, %s: %s, %d protocols", size, name, c.ServerName, len(c.Protocols))
			}
			_ = conn.Close()
		}
	}
}

// TestTermination ends the TLS of a TCP router, and records the connection.
func TestTermination(t *testing.T) {
	t.Parallel()
	config := newTLS(t, nil, certificate.NewTickets()).Config()
	s := startStreams(t, nil, tcp.NeedsHello, func(tcp.Stage, *rule.Connection) tcp.Stream {
		return &lines{mark: "ended", options: config}
	})
	conn := tls.Client(s.dial(), &tls.Config{ServerName: "db.example", InsecureSkipVerify: true}) //nolint:gosec // The certificate is generated.
	exchange(t, conn, "a\n", "ended a\n")
	_ = conn.Close()
	record := s.record()
	if record.Protocol != "tcp" || record.ServerName != "db.example" || record.Router != "ended" ||
		record.BytesReceived != 2 || record.End != "client_eof" || record.Client != "127.0.0.1" || record.Duration <= 0 {
		t.Errorf("record %+v", record)
	}
}

// TestPostgres answers the requests for encryption of clients of PostgreSQL where there are TCP routers with TLS.
func TestPostgres(t *testing.T) {
	t.Parallel()
	const ssl, gssapi = "\x00\x00\x00\x08\x04\xd2\x16\x2f", "\x00\x00\x00\x08\x04\xd2\x16\x30"
	config := newTLS(t, nil, certificate.NewTickets()).Config()
	s := startStreams(t, nil, tcp.NeedsHello|tcp.NeedsPlain, func(stage tcp.Stage, c *rule.Connection) tcp.Stream {
		switch {
		case stage == tcp.StartTLS && c.ServerName == "db.example":
			return &lines{mark: "started", options: config}
		case stage == tcp.Plain:
			return &lines{mark: "plain"}
		}
		return nil
	})
	for name, first := range map[string]string{"SSLRequest": ssl, "GSSENCRequest first": gssapi} {
		below := s.dial()
		for _, one := range []byte(first[:len(first)-1]) {
			say(t, below, string([]byte{one}))
		}
		want := "S"
		if first == gssapi {
			want = "N"
		}
		exchange(t, below, first[len(first)-1:], want)
		if first == gssapi {
			exchange(t, below, ssl, "S")
		}
		conn := tls.Client(below, &tls.Config{ServerName: "db.example", InsecureSkipVerify: true}) //nolint:gosec // The certificate is generated.
		if exchange(t, conn, "a\n", "started a\n"); t.Failed() {
			t.Fatal(name)
		}
		_ = conn.Close()
	}
	// Without TLS, and of other protocols.
	exchange(t, s.dial(), "\x00\x00\x00\x08\x04\xd2\x16\x2e\n", "plain \x00\x00\x00\x08\x04\xd2\x16\x2e\n")
	below := s.dial()
	exchange(t, below, gssapi, "N")
	exchange(t, below, "startup\n", "plain startup\n")
	for name, sent := range map[string]string{
		"bytes behind the request": ssl + "x", "no TLS": ssl, "another server name": ssl,
	} {
		conn := s.dial()
		say(t, conn, sent)
		switch name {
		case "no TLS":
			exchange(t, conn, "", "S")
			say(t, conn, "startup\n")
		case "another server name":
			exchange(t, conn, "", "S")
			client := tls.Client(conn, &tls.Config{ServerName: "other.example", InsecureSkipVerify: true}) //nolint:gosec // The certificate is generated.
			if err := client.HandshakeContext(t.Context()); err == nil {
				t.Errorf("%s: the handshake succeeds", name)
			}
			continue
		}
		if rest, err := io.ReadAll(conn); len(rest) > 0 {
			t.Errorf("%s: got %q, %v", name, rest, err)
		}
	}
}

// TestIncompleteHello waits for the rest of a ClientHello no longer than for a handshake.
func TestIncompleteHello(t *testing.T) {
	t.Parallel()
	none := func(tcp.Stage, *rule.Connection) tcp.Stream { return nil }
	s := startStreams(t, func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(1500 * time.Millisecond)
	}, tcp.NeedsHello, none)
	for _, sent := range []string{"\x16", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"} {
		if got := s.raw(sent); got != "" {
			t.Errorf("%x is answered with %q", sent, got)
		}
		s.logged("connection refused web 127.0.0.1 ClientHello: ")
	}
	// What is no ClientHello gets the alert of a handshake, in time also on a busy machine.
	s = startStreams(t, nil, tcp.NeedsHello, none)
	if got := s.raw("\x16\x03\x01\x00\x05hello"); !strings.HasPrefix(got, "\x15\x03") {
		t.Errorf("got %q", got)
	}
}
