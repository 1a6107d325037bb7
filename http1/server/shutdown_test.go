package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// stuck is a connection whose peer reads nothing more once full is closed: Write waits until the connection is closed,
// and has no deadline.
type stuck struct {
	net.Conn
	full   chan struct{}
	closed chan struct{}
	once   *sync.Once
}

func newStuck(conn net.Conn, full chan struct{}) stuck {
	return stuck{Conn: conn, full: full, closed: make(chan struct{}), once: new(sync.Once)}
}

func (d stuck) Write(p []byte) (int, error) {
	select {
	case <-d.full:
		<-d.closed
		return 0, net.ErrClosed
	default:
		return d.Conn.Write(p)
	}
}

func (d stuck) Close() error {
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

// TestServerStuckClients ends a server while clients of TLS are idle that do not read the end of the connection.
func TestServerStuckClients(t *testing.T) {
	t.Parallel()
	tested := &server.Server{Handler: http.HandlerFunc(hello)}
	config := &tls.Config{Certificates: testCertificate(t), SessionTicketsDisabled: true, MinVersion: tls.VersionTLS12}
	full := make(chan struct{})
	var serving sync.WaitGroup
	for range 3 {
		client, conn := net.Pipe()
		defer http1test.Discard(client)
		secure := tls.Server(newStuck(conn, full), config)
		serving.Go(func() {
			if err := secure.HandshakeContext(context.Background()); err != nil {
				t.Error(err)
			}
			tested.ServeConn(context.Background(), secure)
		})
		c := tls.Client(client, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test's
		say(t, c, get)
		answer(t, bufio.NewReader(c))
	}
	http1test.Eventually(t, "all connections are idle", func() bool { return server.Idle(tested) == 3 })
	close(full)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	over := make(chan error, 2)
	go func() { over <- tested.Shutdown(ctx) }()
	if err := http1test.Receive(t, over, "the end of Shutdown"); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	go func() { over <- tested.Close() }()
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
	g.Open(get)
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
