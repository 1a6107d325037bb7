package graceful_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/httpio/graceful"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is the time to end; tests that wait for all of it have a shorter one.
const limit = 20 * time.Second

// accepting is a listener that says when it has accepted a connection, and when it is closed. Serve of net/http and
// graceful may close it at the same time.
type accepting struct {
	net.Listener

	accepted chan struct{}
	closed   chan struct{}
	once     sync.Once
}

func (a *accepting) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if err == nil {
		a.accepted <- struct{}{}
	}
	return conn, err
}

func (a *accepting) Close() error {
	err := a.Listener.Close()
	a.once.Do(func() { close(a.closed) })
	return err
}

// served is a server that runs until stop is called; its error comes from ended.
type served struct {
	listener *accepting
	stop     context.CancelFunc
	ended    chan error
}

func serve(t *testing.T, limit time.Duration, handler http.HandlerFunc) *served {
	t.Helper()
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{
		listener: &accepting{Listener: inner, accepted: make(chan struct{}, 8), closed: make(chan struct{})},
		ended:    make(chan error, 1),
	}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	t.Cleanup(stop)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: limit}
	go func() {
		s.ended <- graceful.Serve(ctx, server, s.listener, limit, func() error { return server.Serve(s.listener) })
	}()
	return s
}

// dial returns a connection that has been accepted.
func (s *served) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	<-s.listener.accepted
	return conn
}

// exchange sends a request, and returns the response, whose body is read.
func exchange(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: any.test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response
}

// TestAcceptedConnectionsAreAnswered has a request come after the end on a connection that was accepted before.
func TestAcceptedConnectionsAreAnswered(t *testing.T) {
	s := serve(t, limit, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	idle, fresh := s.dial(t), s.dial(t)
	if response := exchange(t, idle); response.StatusCode != http.StatusOK || response.Close {
		t.Fatalf("status %d, close %v before the end", response.StatusCode, response.Close)
	}
	s.stop()
	<-s.listener.closed
	if _, err := io.ReadAll(idle); err != nil {
		t.Errorf("an idle connection ends with %v", err) // It has ended: keep-alive is off.
	}
	if response := exchange(t, fresh); response.StatusCode != http.StatusOK || !response.Close {
		t.Errorf("status %d, close %v after the end", response.StatusCode, response.Close)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// TestRequestsAreCutAtTheLimit has a request that does not end.
func TestRequestsAreCutAtTheLimit(t *testing.T) {
	begun, hold := make(chan struct{}), make(chan struct{})
	s := serve(t, time.Second, func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-hold
	})
	conn := s.dial(t)
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: any.test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	s.stop()
	if err := <-s.ended; !errors.Is(err, graceful.ErrCutOff) {
		t.Errorf("a request that was cut off is the error %v", err)
	}
	close(hold)
}

// TestListenerThatFails returns the error of the accept loop.
func TestListenerThatFails(t *testing.T) {
	s := serve(t, limit, func(http.ResponseWriter, *http.Request) {})
	if err := s.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; err == nil || errors.Is(err, graceful.ErrCutOff) {
		t.Errorf("the error of the accept loop is %v", err)
	}
}
