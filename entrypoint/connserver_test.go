package entrypoint_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// lines is a server of a protocol of lines: it answers each with the same line behind a mark.
type lines struct {
	mark  string
	tls   *tls.Config
	mutex sync.Mutex
	calls []string
	open  map[net.Conn]bool
	work  sync.WaitGroup
}

func (l *lines) ServeConn(_ context.Context, conn net.Conn) {
	if l.tls != nil {
		conn = tls.Server(conn, l.tls)
	}
	l.mutex.Lock()
	if l.open == nil {
		l.open = map[net.Conn]bool{}
	}
	l.open[conn] = true
	l.mutex.Unlock()
	l.work.Add(1)
	defer l.work.Done()
	defer func() { _ = conn.Close() }()
	for reader := bufio.NewReader(conn); ; {
		line, err := reader.ReadString('\n')
		if err != nil || line == "bye\n" {
			return
		}
		_, _ = io.WriteString(conn, l.mark+" "+line)
	}
}

func (l *lines) called(name string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.calls = append(l.calls, name)
}

func (l *lines) EndKeepAlives() { l.called("EndKeepAlives") }

func (l *lines) Shutdown(ctx context.Context) error {
	l.called("Shutdown")
	done := make(chan struct{})
	go func() {
		l.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lines) Close() error {
	l.called("Close")
	l.work.Wait()
	return nil
}

// sniffLines recognises "LINES\n".
func sniffLines(first []byte) entrypoint.Match {
	const begin = "LINES\n"
	switch {
	case bytes.HasPrefix(first, []byte(begin)):
		return entrypoint.Matches
	case strings.HasPrefix(begin, string(first)):
		return entrypoint.NeedsMore
	}
	return entrypoint.NoMatch
}

// bySNI passes the names of a domain through.
type bySNI struct {
	suffix, protocol string
	seen             chan entrypoint.ClientHello
}

func (b *bySNI) PassTLS(hello entrypoint.ClientHello) string {
	b.seen <- hello
	if strings.HasSuffix(hello.ServerName, b.suffix) {
		return b.protocol
	}
	return ""
}

// startProtocols serves protocols beside HTTP.
func startProtocols(t *testing.T, change func(*static.EntryPoint), deps func(*entrypoint.Dependencies)) *served {
	t.Helper()
	return startDeps(t, http.HandlerFunc(hello), change, deps)
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

// TestProtocolByFirstBytes has three protocols on one port, whose first bytes come one by one.
func TestProtocolByFirstBytes(t *testing.T) {
	t.Parallel()
	server := &lines{mark: "own"}
	s := startProtocols(t, nil, func(deps *entrypoint.Dependencies) {
		deps.Protocols = []entrypoint.Protocol{{Name: "lines", Sniff: sniffLines, Server: server}}
	})
	conn := s.dial()
	for _, letter := range "LINES" {
		say(t, conn, string(letter))
	}
	exchange(t, conn, "\n", "own LINES\n")
	exchange(t, conn, "a\n", "own a\n")
	for _, protocol := range protocols() {
		client, url := s.client(protocol)
		if _, body := do(t, client, http.MethodGet, url, nil); body != "hello" {
			t.Errorf("%s: got %q", protocol, body)
		}
	}
	if got := s.raw("LINK / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); !strings.HasSuffix(got, "hello") {
		t.Errorf("got %q", got)
	}
	// The connection is served until it ends, and then the server is closed.
	s.stop()
	s.eventually("draining", func() bool {
		server.mutex.Lock()
		defer server.mutex.Unlock()
		return slices.Contains(server.calls, "Shutdown")
	})
	exchange(t, conn, "b\n", "own b\n")
	say(t, conn, "bye\n")
	s.wait()
	server.mutex.Lock()
	defer server.mutex.Unlock()
	if calls := slices.Compact(server.calls); !slices.Equal(calls, []string{"EndKeepAlives", "Shutdown", "Close"}) {
		t.Errorf("the server got %v", calls)
	}
}

// TestProtocolByALPN hands a connection on after its TLS has ended here.
func TestProtocolByALPN(t *testing.T) {
	t.Parallel()
	s := startProtocols(t, nil, func(deps *entrypoint.Dependencies) {
		deps.Protocols = []entrypoint.Protocol{{Name: "lines/1", Server: &lines{mark: "alpn"}}}
	})
	s.tls.use(newTLS(t, &dynamic.TLSOptions{ALPNProtocols: []string{"lines/1", "h2", "http/1.1"}},
		certificate.NewTickets()))
	conn := tls.Client(s.dial(), &tls.Config{NextProtos: []string{"lines/1"}, InsecureSkipVerify: true}) //nolint:gosec // The certificate is generated.
	exchange(t, conn, "a\n", "alpn a\n")
	_ = conn.Close()
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
	pass := &bySNI{suffix: ".through.example", protocol: "passed", seen: make(chan entrypoint.ClientHello, 100)}
	config := newTLS(t, nil, certificate.NewTickets()).Config().Clone()
	config.NextProtos = nil
	s := startProtocols(t, nil, func(deps *entrypoint.Dependencies) {
		deps.Protocols = []entrypoint.Protocol{{Name: "passed", Server: &lines{mark: "passed", tls: config}}}
		deps.Passthrough = pass
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
			if hello := <-pass.seen; hello.ServerName != strings.ToLower(name) || !slices.Equal(hello.Protocols,
				config.NextProtos) {
				t.Errorf("%d, %s: %s, %d protocols", size, name, hello.ServerName, len(hello.Protocols))
			}
			_ = conn.Close()
		}
	}
}

// TestIncompleteHello waits for the rest of a ClientHello no longer than for a handshake.
func TestIncompleteHello(t *testing.T) {
	t.Parallel()
	s := startProtocols(t, func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(300 * time.Millisecond)
	}, func(deps *entrypoint.Dependencies) {
		deps.Passthrough = &bySNI{seen: make(chan entrypoint.ClientHello, 1)}
	})
	for _, sent := range []string{"\x16", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"} {
		if got := s.raw(sent); got != "" {
			t.Errorf("%x is answered with %q", sent, got)
		}
		s.logged("connection refused web 127.0.0.1 ClientHello: ")
	}
	// What is no ClientHello gets the alert of a handshake.
	if got := s.raw("\x16\x03\x01\x00\x05hello"); !strings.HasPrefix(got, "\x15\x03") {
		t.Errorf("got %q", got)
	}
}

// echo answers datagrams.
type echo struct{ ended chan struct{} }

func (e *echo) ServePackets(_ context.Context, conn net.PacketConn) {
	defer close(e.ended)
	buffer := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = conn.WriteTo(buffer[:n], from)
	}
}

func (e *echo) Shutdown(context.Context) error { return nil }

// TestPackets serves datagrams beside connections, on the port of the same number.
func TestPackets(t *testing.T) {
	t.Parallel()
	server := &echo{ended: make(chan struct{})}
	s := startProtocols(t, nil, func(deps *entrypoint.Dependencies) { deps.Packets = server })
	conn, err := new(net.Dialer).DialContext(t.Context(), "udp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	exchange(t, conn, "datagram", "datagram")
	client, url := s.client("h1")
	do(t, client, http.MethodGet, url, nil)
	s.stop()
	s.wait()
	receive(t, server.ended, "the end of the datagrams")
}
