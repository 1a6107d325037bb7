package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/http1/internal/http1test"
)

// deaf is a connection whose peer reads nothing more once full is closed: Write waits until the connection is closed,
// and has no deadline.
type deaf struct {
	net.Conn
	full   chan struct{}
	closed chan struct{}
	once   *sync.Once
}

func newDeaf(conn net.Conn, full chan struct{}) deaf {
	return deaf{Conn: conn, full: full, closed: make(chan struct{}), once: new(sync.Once)}
}

func (d deaf) Write(p []byte) (int, error) {
	select {
	case <-d.full:
		<-d.closed
		return 0, net.ErrClosed
	default:
		return d.Conn.Write(p)
	}
}

func (d deaf) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Conn.Close()
}

// testCertificate returns what a server of TLS needs.
func testCertificate(t testing.TB) []tls.Certificate {
	t.Helper()
	origin := httptest.NewUnstartedServer(nil)
	origin.StartTLS()
	defer origin.Close()
	return origin.TLS.Certificates
}

// TestServerDeafClients ends a server while clients of TLS are idle that do not even read that the connection ends.
func TestServerDeafClients(t *testing.T) {
	t.Parallel()
	server := &Server{Handler: http.HandlerFunc(hello)}
	config := &tls.Config{Certificates: testCertificate(t), SessionTicketsDisabled: true, MinVersion: tls.VersionTLS12}
	full := make(chan struct{})
	var serving sync.WaitGroup
	for range 3 {
		client, conn := net.Pipe()
		defer http1test.Discard(client)
		secure := tls.Server(newDeaf(conn, full), config)
		serving.Go(func() {
			if err := secure.HandshakeContext(context.Background()); err != nil {
				t.Error(err)
			}
			server.ServeConn(context.Background(), secure)
		})
		c := tls.Client(client, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test's
		say(t, c, get)
		answer(t, bufio.NewReader(c))
	}
	http1test.Eventually(t, "all connections are idle", func() bool {
		server.mutex.Lock()
		defer server.mutex.Unlock()
		idle := 0
		for c := range server.conns {
			if c.state.Load() == connIdle {
				idle++
			}
		}
		return idle == 3
	})
	close(full)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	over := make(chan error, 2)
	go func() { over <- server.Shutdown(ctx) }()
	if err := http1test.Receive(t, over, "the end of Shutdown"); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	go func() { over <- server.Close() }()
	if err := http1test.Receive(t, over, "the end of Close"); err != nil {
		t.Errorf("Close: %v", err)
	}
	serving.Wait()
}

// TestServerShutdownAndHijackers waits for a connection of a handler that runs, and not for one that outlives its
// handler.
func TestServerShutdownAndHijackers(t *testing.T) {
	t.Parallel()
	hijacked, release := make(chan net.Conn, 1), make(chan struct{})
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
		}
		hijacked <- conn
		<-release
	})
	g.open(get)
	defer http1test.Discard(http1test.Receive(t, hijacked, "the connection"))
	expired, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.server.Shutdown(expired); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown did not wait for the handler: %v", err)
	}
	over := make(chan error, 1)
	go func() { over <- g.server.Shutdown(context.Background()) }()
	close(release)
	if err := http1test.Receive(t, over, "the end of Shutdown"); err != nil {
		t.Error(err)
	}
}

// TestServerSparesWhoHasSent ends idle connections while a request has come that nobody has read yet.
func TestServerSparesWhoHasSent(t *testing.T) {
	t.Parallel()
	accepted := make(chan net.Conn, 1)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		accepted <- conn.Conn
		_, _ = conn.R.ReadByte()
	})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", endpoint.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(conn)
	c := newServerConn(t.Context(), &Server{}, conn)
	c.state.Store(connIdle)
	say(t, http1test.Receive(t, accepted, "the connection"), get)
	http1test.Eventually(t, "the request is there", c.pending)
	if c.closeIdle(); c.state.Load() != connIdle {
		t.Error("the connection was closed on a request")
	}
	if _, err := io.ReadFull(conn, make([]byte, len(get))); err != nil {
		t.Error(err)
	}
	if c.closeIdle(); c.state.Load() != connClosed {
		t.Error("the connection stays")
	}
}
