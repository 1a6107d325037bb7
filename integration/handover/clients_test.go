package handover

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// load is a number of clients that send requests until close.
type load struct {
	t       *testing.T
	done    chan struct{}
	work    sync.WaitGroup
	tallies []*tally
	// changing is whether latencies are those of a time with changes.
	changing atomic.Bool
}

// tally counts the requests of the clients of a kind.
type tally struct {
	name             string
	requests, failed atomic.Int64
	// first is the first failure.
	first atomic.Pointer[error]

	mutex sync.Mutex
	// steady and changing are latencies.
	steady, changing []time.Duration
}

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{t: t, done: make(chan struct{})}
	t.Cleanup(l.close)
	return l
}

// start starts clients of a kind. send is called again and again, and reports each request that has succeeded. An error
// is a request that has failed.
func (l *load) start(name string, clients int, send func(report func()) error) *tally {
	one := &tally{name: name}
	l.tallies = append(l.tallies, one)
	for range clients {
		l.work.Go(func() {
			for !l.over() {
				err := send(func() { one.requests.Add(1) })
				if err == nil {
					continue
				}
				one.failed.Add(1)
				one.first.CompareAndSwap(nil, &err)
				l.pause(50 * time.Millisecond)
			}
		})
	}
	return one
}

// over reports whether the clients end.
func (l *load) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// pause waits, but not after close.
func (l *load) pause(length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.done:
	}
}

// close ends the clients and waits for them. It may be called again.
func (l *load) close() {
	if !l.over() {
		close(l.done)
	}
	l.work.Wait()
}

// took records the latency of a request.
func (l *load) took(one *tally, latency time.Duration) {
	changing := l.changing.Load()
	one.mutex.Lock()
	defer one.mutex.Unlock()
	if changing {
		one.changing = append(one.changing, latency)
	} else {
		one.steady = append(one.steady, latency)
	}
}

// percentile99 returns the 99th percentile, and 0 for none.
func percentile99(latencies []time.Duration) time.Duration {
	if len(latencies) == 0 {
		return 0
	}
	slices.Sort(latencies)
	return latencies[len(latencies)*99/100]
}

// report writes a line for each kind of client, and returns how many requests have failed.
func (l *load) report(what string) (failed int64) {
	for _, one := range l.tallies {
		line := fmt.Sprintf("%s: %s: %d requests, %d failed", what, one.name, one.requests.Load(), one.failed.Load())
		if steady, changing := percentile99(one.steady), percentile99(one.changing); steady > 0 && changing > 0 {
			line += fmt.Sprintf(", p99 %v before and %v meanwhile (%.2f x)", steady.Round(time.Microsecond),
				changing.Round(time.Microsecond), float64(changing)/float64(steady))
		}
		if first := one.first.Load(); first != nil {
			line += fmt.Sprintf("; the first: %v", *first)
		}
		l.t.Log(line)
		failed += one.failed.Load()
	}
	return failed
}

// target is what clients connect to.
type target struct {
	// web, secure and mail are addresses of HTTP, of HTTPS and of a TCP service that sends back what it gets, which may be
	// empty.
	web, secure, mail string
	// noH2C is whether HTTP/2 is not to be had without TLS.
	noH2C bool
}

// startAll starts clients of all kinds, and idle connections.
func (l *load) startAll(to target, idle int) {
	for _, secure := range []bool{false, true} {
		address, suffix := to.web, ""
		if secure {
			address, suffix = to.secure, " with TLS"
		}
		l.start("HTTP/1.1"+suffix+", new connections", 2, func(report func()) error {
			return l.once(address, secure, report)
		})
		l.startKept("HTTP/1.1"+suffix+", kept connections", address, secure)
		if secure || !to.noH2C {
			l.startHTTP2("HTTP/2"+suffix, address, secure)
		}
		l.startWebSockets("WebSocket"+suffix, address, secure)
		l.start("slow upload"+suffix, 8, func(report func()) error { return l.upload(address, secure, report) })
	}
	l.start("slow handshake", 16, func(report func()) error { return l.shakeSlowly(to.secure, report) })
	if to.mail != "" {
		l.start("TCP", 4, func(report func()) error { return l.relay(to.mail, report) })
	}
	l.start("idle connections", idle, func(report func()) error { return l.idle(to.web, report) })
}

// once sends one request on a connection of its own.
func (l *load) once(address string, secure bool, report func()) error {
	client, err := connect(l.t.Context(), address, secure)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if _, err = client.get(); err == nil {
		report()
	}
	l.pause(5 * time.Millisecond)
	return err
}

// startKept sends requests on a connection until a response ends it, and records the latencies of all but the first.
func (l *load) startKept(name, address string, secure bool) {
	var one *tally
	ready := make(chan struct{})
	one = l.start(name, 4, func(report func()) error {
		<-ready
		client, err := connect(l.t.Context(), address, secure)
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		for n := 0; ; n++ {
			start := time.Now()
			last, err := client.get()
			if err != nil {
				return fmt.Errorf("request %d of the connection: %w", n+1, err)
			}
			report()
			if n > 0 {
				l.took(one, time.Since(start))
			}
			if last || l.over() {
				return nil
			}
			l.pause(5 * time.Millisecond)
		}
	})
	close(ready)
}

// startHTTP2 sends requests with the client of net/http.
func (l *load) startHTTP2(name, address string, secure bool) {
	protocol := harness.H2C
	if secure {
		protocol = harness.H2
	}
	client := harness.NewClient(l.t, protocol, address, "any.test", clientTLS())
	l.start(name, 4, func(report func()) error {
		response, err := client.Try(client.Request(http.MethodGet, "/ok", nil))
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", response.StatusCode)
		}
		if err == nil {
			report()
		}
		l.pause(5 * time.Millisecond)
		return err
	})
}

// conversation is how long a WebSocket or a connection of TCP is used: less than the time that connections have to end.
const conversation = 3 * time.Second

// startWebSockets exchanges messages on WebSockets.
func (l *load) startWebSockets(name, address string, secure bool) {
	protocol := harness.H1
	if secure {
		protocol = harness.H1TLS
	}
	client := harness.NewClient(l.t, protocol, address, "any.test", clientTLS())
	l.start(name, 4, func(report func()) error {
		conn, err := client.TryWebSocket("/websocket")
		if err != nil {
			return err
		}
		defer func() { _ = conn.CloseNow() }()
		for end := time.Now().Add(conversation); time.Now().Before(end) && !l.over(); {
			if err := exchangeMessage(l.t.Context(), conn); err != nil {
				return err
			}
			report()
			l.pause(20 * time.Millisecond)
		}
		return conn.Close(websocket.StatusNormalClosure, "")
	})
}

// exchangeMessage sends a message and receives one.
func exchangeMessage(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, []byte("a")); err != nil {
		return err
	}
	_, _, err := conn.Read(ctx)
	return err
}

// relay exchanges lines over TCP.
func (l *load) relay(address string, report func()) error {
	client, err := connect(l.t.Context(), address, false)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for end := time.Now().Add(conversation); time.Now().Before(end) && !l.over(); {
		if _, err := io.WriteString(client, "a\n"); err != nil {
			return err
		}
		if got, err := client.reader.ReadString('\n'); err != nil || got != "a\n" {
			return fmt.Errorf("got %q, error %w", got, err)
		}
		report()
		l.pause(20 * time.Millisecond)
	}
	return nil
}

// upload sends a body for longer than a second.
func (l *load) upload(address string, secure bool, report func()) error {
	client, err := connect(l.t.Context(), address, secure)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	const parts, size = 8, 4 << 10
	head := fmt.Sprintf("POST /ok HTTP/1.1\r\nHost: any.test\r\nContent-Length: %d\r\n\r\n", parts*size)
	if _, err := io.WriteString(client, head); err != nil {
		return err
	}
	for range parts {
		if _, err := io.WriteString(client, strings.Repeat("a", size)); err != nil {
			return err
		}
		l.pause(150 * time.Millisecond)
	}
	if _, err = client.read(); err == nil {
		report()
	}
	return err
}

// shakeSlowly sends a ClientHello a second after it has connected, in pieces.
func (l *load) shakeSlowly(address string, report func()) error {
	conn, err := new(net.Dialer).DialContext(l.t.Context(), "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	l.pause(time.Duration(rand.Int64N(int64(time.Second)))) //nolint:gosec // no secret
	client := newConnection(&piecewise{Conn: conn, pause: l.pause}, true)
	if _, err = client.get(); err == nil {
		report()
	}
	return err
}

// piecewise is a connection whose first bytes are sent in pieces.
type piecewise struct {
	net.Conn

	pause func(time.Duration)
	sent  bool
}

// Write sends the bytes.
func (p *piecewise) Write(data []byte) (int, error) {
	if p.sent {
		return p.Conn.Write(data)
	}
	p.sent = true
	written := 0
	for piece := range slices.Chunk(data, len(data)/4+1) {
		n, err := p.Conn.Write(piece)
		if written += n; err != nil {
			return written, err
		}
		p.pause(100 * time.Millisecond)
	}
	return written, nil
}

// idle sends a request on a connection every few seconds, until a response ends it.
func (l *load) idle(address string, report func()) error {
	l.pause(time.Duration(rand.Int64N(int64(5 * time.Second)))) //nolint:gosec // no secret
	client, err := connect(l.t.Context(), address, false)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for n := 1; ; n++ {
		last, err := client.get()
		if err != nil {
			return fmt.Errorf("request %d of the connection: %w", n, err)
		}
		report()
		if last || l.over() {
			return nil
		}
		l.pause(5*time.Second + time.Duration(rand.Int64N(int64(5*time.Second)))) //nolint:gosec // no secret
	}
}

// connection is a client's connection of HTTP/1.1. It repeats no request, unlike http.Transport.
type connection struct {
	net.Conn

	reader *bufio.Reader
}

// connect opens a connection, with TLS if it is to be secure.
func connect(ctx context.Context, address string, secure bool) (*connection, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return newConnection(conn, secure), nil
}

func newConnection(conn net.Conn, secure bool) *connection {
	_ = conn.SetDeadline(time.Now().Add(timeout))
	if secure {
		conn = tls.Client(conn, clientTLS())
	}
	return &connection{Conn: conn, reader: bufio.NewReaderSize(conn, 1<<10)}
}

// get sends a request, and reports whether its response ends the connection.
func (c *connection) get() (last bool, err error) {
	_ = c.SetDeadline(time.Now().Add(timeout))
	if _, err := io.WriteString(c, "GET /ok HTTP/1.1\r\nHost: any.test\r\n\r\n"); err != nil {
		return false, err
	}
	return c.read()
}

// read reads a response, and reports whether it ends the connection.
func (c *connection) read() (last bool, err error) {
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return false, err
	}
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status + ": " + body.String())
	}
	return response.Close, err
}
