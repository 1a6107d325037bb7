package http1

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// timeout is how long a client's test waits for what must happen.
const timeout = 20 * time.Second

// rawEndpoint is an endpoint that a test plays itself, byte by byte.
type rawEndpoint struct {
	listener net.Listener
	accepted atomic.Int32
	waiting  sync.WaitGroup
	mutex    sync.Mutex
	conns    []net.Conn
}

// newRawEndpoint plays each connection with a function, which is told the number of the connection, from 1.
func newRawEndpoint(t testing.TB, play func(conn *rawConn, number int)) *rawEndpoint {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &rawEndpoint{listener: listener}
	e.waiting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			number := int(e.accepted.Add(1))
			e.mutex.Lock()
			e.conns = append(e.conns, conn)
			e.mutex.Unlock()
			e.waiting.Go(func() {
				defer discard(conn)
				play(&rawConn{Conn: conn, r: bufio.NewReader(conn)}, number)
			})
		}
	})
	t.Cleanup(e.close)
	return e
}

func (e *rawEndpoint) close() {
	_ = e.listener.Close()
	e.mutex.Lock()
	for _, conn := range e.conns {
		_ = conn.Close()
	}
	e.mutex.Unlock()
	e.waiting.Wait()
}

func (e *rawEndpoint) address() string { return e.listener.Addr().String() }

// rawConn is the endpoint's end of a connection.
type rawConn struct {
	net.Conn
	r *bufio.Reader
}

// head reads a head, up to its blank line; it is empty at the end of the connection.
func (c *rawConn) head() string {
	var text strings.Builder
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return ""
		}
		text.WriteString(line)
		if line == "\r\n" {
			return text.String()
		}
	}
}

func (c *rawConn) say(text string) { _, _ = io.WriteString(c.Conn, text) }

// discard closes what a test is done with.
func discard(c io.Closer) { _ = c.Close() }

// answering answers each request of each connection with the same bytes.
func answering(text string) func(*rawConn, int) {
	return func(conn *rawConn, _ int) {
		for conn.head() != "" {
			conn.say(text)
		}
	}
}

// testUpstream returns an upstream to an address, with poisoned buffers and all of its connections closed at the end.
func testUpstream(t testing.TB, address string, change func(*UpstreamConfig)) *Upstream {
	t.Helper()
	config := &UpstreamConfig{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		},
		ContinueTimeout: time.Second,
	}
	if change != nil {
		change(config)
	}
	client := &Client{}
	client.buffers.poison = true
	upstream := client.Upstream(config)
	t.Cleanup(upstream.CloseIdleConnections)
	return upstream
}

func testRequest(t testing.TB, method, address string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+"/path?q=1", body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// streamed hides what a reader is, so that its body is not at hand.
func streamed(r io.Reader) io.ReadCloser { return io.NopCloser(struct{ io.Reader }{r}) }

// idleConns returns how many connections an upstream keeps.
func idleConns(u *Upstream) int {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return len(u.idle)
}

// arrives waits for a value.
func arrives[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(timeout): //nolint:forbidigo // the limit of a test
		t.Fatalf("nothing came: %s", what)
	}
	panic("not reached")
}
