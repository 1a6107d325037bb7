// Package http1test has what tests of HTTP/1.1 share: an endpoint that a test plays itself, byte by byte.
package http1test

import (
	"bufio"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Timeout is how long a test waits for what must happen.
const Timeout = time.Minute

// Endpoint is an endpoint that a test plays itself.
type Endpoint struct {
	listener net.Listener
	accepted atomic.Int32
	waiting  sync.WaitGroup
	mutex    sync.Mutex
	conns    []net.Conn
}

// Reserve returns an address of TCP on which nothing listens. The system gives its port to no other socket that leaves
// the choice to it until the test ends, since a connection has it; one that names the port can listen on it.
func Reserve(t testing.TB) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer Discard(listener)
	for _, connect := range []func() (net.Conn, error){
		func() (net.Conn, error) {
			return new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		},
		listener.Accept,
	} {
		conn, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { Discard(conn) })
	}
	return listener.Addr().String()
}

// NewEndpoint plays each connection with a function, which gets the number of the connection, from 1.
func NewEndpoint(t testing.TB, play func(conn *Conn, number int)) *Endpoint {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &Endpoint{listener: listener}
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
				defer Discard(conn)
				play(NewConn(conn), number)
			})
		}
	})
	t.Cleanup(e.close)
	return e
}

func (e *Endpoint) close() {
	_ = e.listener.Close()
	e.mutex.Lock()
	for _, conn := range e.conns {
		_ = conn.Close()
	}
	e.mutex.Unlock()
	e.waiting.Wait()
}

// Address returns the address of the endpoint.
func (e *Endpoint) Address() string { return e.listener.Addr().String() }

// Accepted returns how many connections have been accepted.
func (e *Endpoint) Accepted() int { return int(e.accepted.Load()) }

// Conn is the endpoint's end of a connection.
type Conn struct {
	net.Conn
	// R reads from the connection.
	R *bufio.Reader
}

// NewConn makes a Conn of a connection.
func NewConn(conn net.Conn) *Conn { return &Conn{Conn: conn, R: bufio.NewReader(conn)} }

// Head reads a head, up to its blank line; it is empty at the end of the connection.
func (c *Conn) Head() string {
	var text strings.Builder
	for {
		line, err := c.R.ReadString('\n')
		if err != nil {
			return ""
		}
		text.WriteString(line)
		if line == "\r\n" {
			return text.String()
		}
	}
}

// Body reads the body of a request whose head the endpoint has read.
func (c *Conn) Body(head string) string {
	if strings.Contains(head, "Transfer-Encoding: chunked\r\n") {
		var all strings.Builder
		for {
			line, err := c.R.ReadString('\n')
			size, parseErr := strconv.ParseInt(strings.TrimSuffix(line, "\r\n"), 16, 64)
			if err != nil || parseErr != nil {
				return "broken"
			}
			if size == 0 {
				return all.String() + "|" + c.Head()
			}
			_, _ = io.CopyN(&all, c.R, size)
			_, _ = c.R.Discard(2)
		}
	}
	_, after, ok := strings.Cut(head, "Content-Length: ")
	if !ok {
		return ""
	}
	n, _ := strconv.Atoi(after[:strings.Index(after, "\r\n")])
	text := make([]byte, n)
	_, _ = io.ReadFull(c.R, text)
	return string(text)
}

// Say writes a text.
func (c *Conn) Say(text string) { _, _ = io.WriteString(c.Conn, text) }

// Discard closes what a test is done with.
func Discard(c io.Closer) { _ = c.Close() }

// Answering answers each request of each connection with the same bytes.
func Answering(text string) func(*Conn, int) {
	return func(conn *Conn, _ int) {
		for conn.Head() != "" {
			conn.Say(text)
		}
	}
}

// Receive waits for a value.
func Receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(Timeout)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// Eventually waits for a condition that nothing signals.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(Timeout)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-tick.C
	}
}

// Heap returns how many bytes of the heap are in use.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // It is less than the machine has.
}
