package traffic

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// Target is what clients connect to. An empty address has no clients.
type Target struct {
	// Web and Secure are addresses of HTTP and HTTPS, Mail and DNS those of a TCP and a UDP service that send back what
	// they get.
	Web, Secure, Mail, DNS string
	// NoH2C is whether HTTP/2 is not to be had without TLS, and HTTP3 whether Secure has HTTP/3.
	NoH2C, HTTP3 bool
}

// StartAll starts a few clients of each kind, and a number of idle connections.
func (l *Load) StartAll(to Target, idle int) {
	for _, secure := range []bool{false, true} {
		address, suffix := to.Web, ""
		if secure {
			address, suffix = to.Secure, " with TLS"
		}
		l.Start("HTTP/1.1"+suffix+", new connections", 2, func(t *Tally) error { return l.once(address, secure, t) })
		l.Start("HTTP/1.1"+suffix+", kept connections", 4, func(t *Tally) error { return l.keep(address, secure, t) })
		l.Start("slow upload"+suffix, 8, func(t *Tally) error { return l.upload(address, secure, t) })
		l.startWebSockets("WebSocket"+suffix, address, secure)
	}
	if !to.NoH2C {
		l.startMultiplexed("HTTP/2", harness.H2C, to.Web)
	}
	l.startMultiplexed("HTTP/2 with TLS", harness.H2, to.Secure)
	if to.HTTP3 {
		l.startMultiplexed("HTTP/3", harness.H3, to.Secure)
		l.Start("HTTP/3, new connections", 1, func(t *Tally) error { return l.onceHTTP3(to.Secure, t) })
	}
	l.Start("slow handshake", 16, func(t *Tally) error { return l.shakeSlowly(to.Secure, t) })
	if to.Mail != "" {
		l.Start("TCP", 4, func(t *Tally) error { return l.exchange("tcp", to.Mail, t) })
	}
	if to.DNS != "" {
		l.Start("UDP", 4, func(t *Tally) error { return l.exchange("udp", to.DNS, t) })
	}
	if idle > 0 {
		l.Start("idle connections", idle, func(t *Tally) error { return l.idle(to.Web, t) })
	}
}

// once sends one request on a connection of its own.
func (l *Load) once(address string, secure bool, t *Tally) error {
	client, err := Connect(l.t.Context(), address, secure)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Get(); err != nil {
		return err
	}
	t.succeeded()
	l.Pause(l.Between)
	return nil
}

// keep sends requests on a connection until a response ends it. The first one, which has the handshake, has no latency.
func (l *Load) keep(address string, secure bool, t *Tally) error {
	client, err := Connect(l.t.Context(), address, secure)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for n := 1; ; n++ {
		start := time.Now()
		last, err := client.Get()
		if err != nil {
			return fmt.Errorf("request %d of the connection: %w", n, err)
		}
		if n == 1 {
			t.succeeded()
		} else {
			t.took(time.Since(start))
		}
		if last || l.over() {
			return nil
		}
		l.Pause(l.Between)
	}
}

// startMultiplexed sends requests with a client that keeps connections of HTTP/2 or HTTP/3.
func (l *Load) startMultiplexed(name string, protocol harness.Protocol, address string) {
	client := harness.NewClient(l.t, protocol, address, host, clientTLS())
	l.Start(name, 4, func(t *Tally) error {
		start := time.Now()
		if err := get(client); err != nil {
			return err
		}
		t.took(time.Since(start))
		l.Pause(l.Between)
		return nil
	})
}

// get sends a request. Another status than 200 is an error.
func get(client *harness.Client) error {
	response, err := client.Try(client.Request(http.MethodGet, "/ok", nil))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return err
}

// onceHTTP3 sends one request on a connection of HTTP/3 of its own.
func (l *Load) onceHTTP3(address string, t *Tally) error {
	transport := harness.NewHTTP3(address, clientTLS())
	defer func() { _ = transport.Close() }()
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "https://"+host+"/ok", nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	if err != nil {
		return err
	}
	t.succeeded()
	l.Pause(10 * l.Between)
	return nil
}

// conversation is how long a WebSocket, a connection of TCP or a session of UDP is used.
const conversation = 3 * time.Second

// startWebSockets exchanges messages on WebSockets.
func (l *Load) startWebSockets(name, address string, secure bool) {
	protocol := harness.H1
	if secure {
		protocol = harness.H1TLS
	}
	client := harness.NewClient(l.t, protocol, address, host, clientTLS())
	l.Start(name, 4, func(t *Tally) error {
		conn, err := client.TryWebSocket("/websocket")
		if err != nil {
			return err
		}
		defer func() { _ = conn.CloseNow() }()
		for end := time.Now().Add(conversation); time.Now().Before(end) && !l.over(); {
			if err := exchangeMessage(l.t.Context(), conn); err != nil {
				return err
			}
			t.succeeded()
			l.Pause(4 * l.Between)
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

// exchange exchanges short messages over TCP or UDP. A datagram that is lost has failed.
func (l *Load) exchange(network, address string, t *Tally) error {
	conn, err := new(net.Dialer).DialContext(l.t.Context(), network, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	got := make([]byte, 64)
	for n, end := 1, time.Now().Add(conversation); time.Now().Before(end) && !l.over(); n++ {
		_ = conn.SetDeadline(time.Now().Add(timeout / 6))
		message := fmt.Sprintf("%06d\n", n)
		if _, err := io.WriteString(conn, message); err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
		if _, err := io.ReadFull(conn, got[:len(message)]); err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
		if string(got[:len(message)]) != message {
			return fmt.Errorf("message %d: got %q", n, got[:len(message)])
		}
		t.succeeded()
		l.Pause(4 * l.Between)
	}
	return nil
}

// upload sends a body for longer than a second.
func (l *Load) upload(address string, secure bool, t *Tally) error {
	client, err := Connect(l.t.Context(), address, secure)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	const parts, size = 8, 4 << 10
	head := fmt.Sprintf("POST /ok HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", host, parts*size)
	if _, err := io.WriteString(client, head); err != nil {
		return err
	}
	for range parts {
		if _, err := io.WriteString(client, strings.Repeat("a", size)); err != nil {
			return err
		}
		l.Pause(150 * time.Millisecond)
	}
	if _, err := client.read(); err != nil {
		return err
	}
	t.succeeded()
	return nil
}

// shakeSlowly sends a ClientHello up to a second after it has connected, in pieces.
func (l *Load) shakeSlowly(address string, t *Tally) error {
	conn, err := new(net.Dialer).DialContext(l.t.Context(), "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	l.Pause(upTo(time.Second))
	if _, err := newConnection(&piecewise{Conn: conn, pause: l.Pause}, true).Get(); err != nil {
		return err
	}
	t.succeeded()
	return nil
}

// idle sends a request on a connection after each pause, until a response ends it. The connections of the beginning
// bring one at once; later ones do not, so that there are as many requests while they are opened again.
func (l *Load) idle(address string, t *Tally) error {
	l.Pause(upTo(time.Second))
	client, err := Connect(l.t.Context(), address, false)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for n := 1; ; n++ {
		if n > 1 || time.Since(l.begun) > l.Idle {
			l.Pause(l.Idle + upTo(l.Idle))
		}
		last, err := client.Get()
		if err != nil {
			return fmt.Errorf("request %d of the connection: %w", n, err)
		}
		t.succeeded()
		if last || l.over() {
			return nil
		}
	}
}

// upTo returns a random time below a limit.
func upTo(limit time.Duration) time.Duration {
	return time.Duration(rand.Int64N(int64(limit))) //nolint:gosec // no secret
}
