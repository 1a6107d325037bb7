package entrypoint_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// barrier is a gate that a test opens.
type barrier struct {
	open    chan struct{}
	waiting atomic.Int32
	// entered is how many have come that do not wait.
	entered          atomic.Int32
	reduces, crowded atomic.Bool
}

func (b *barrier) Enter(ctx context.Context) {
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	select {
	case <-b.open:
	case <-ctx.Done():
	}
}

func (b *barrier) ReducesTimeouts() bool { return b.reduces.Load() }

func (b *barrier) Crowded() bool { return b.crowded.Load() }

func (b *barrier) TryEnter() bool {
	select {
	case <-b.open:
		b.entered.Add(1)
		return true
	default:
		return false
	}
}

// TestGate has connections over TCP wait for the gate, those that are open be served, and those of HTTP/3 refused.
func TestGate(t *testing.T) {
	t.Parallel()
	gate, counter := &barrier{open: make(chan struct{})}, &refusals{}
	s := startDeps(t, http.HandlerFunc(hello), nil, func(deps *entrypoint.Dependencies) {
		deps.Gate, deps.Refusals = gate, counter
	})
	first, second := s.dial(), s.dial()
	say(t, first, get)
	say(t, second, get)
	s.eventually("one waits", func() bool { return gate.waiting.Load() == 1 })
	if n := s.connections(); n > 0 {
		t.Errorf("%d connections were accepted", n)
	}
	url := "https://" + s.address
	if _, _, err := try(t, s.http3(nil), http.MethodGet, url, nil); err == nil {
		t.Error("a connection of HTTP/3 was accepted")
	}
	if counted := counter.counted(); counted["overload"] == 0 || len(counted) > 1 {
		t.Errorf("refused are %v", counted)
	}
	s.logged("connections refused: overload.actions.stopAccepting is reached")
	close(gate.open)
	for _, conn := range []net.Conn{first, second} {
		answer(t, bufio.NewReader(conn))
	}
	do(t, s.http3(nil), http.MethodGet, url, nil)
	if n := gate.entered.Load(); n == 0 {
		t.Error("a connection of HTTP/3 does not count")
	}
}

// TestDrainPassesTheGate stops an entrypoint with a connection that waits, which has sent its request and is served.
func TestDrainPassesTheGate(t *testing.T) {
	t.Parallel()
	gate := &barrier{open: make(chan struct{})}
	s := startDeps(t, http.HandlerFunc(hello), nil, func(deps *entrypoint.Dependencies) { deps.Gate = gate })
	conn := s.dial()
	say(t, conn, get)
	s.eventually("it waits", func() bool { return gate.waiting.Load() == 1 })
	s.stop()
	answer(t, bufio.NewReader(conn))
	s.wait()
}

// TestReducedTimeouts has connections of each protocol be idle for a part of the time-out. Those of an entrypoint whose
// time-outs are not reduced, though shorter, are still open then.
func TestReducedTimeouts(t *testing.T) {
	t.Parallel()
	gate := &barrier{open: make(chan struct{})}
	close(gate.open)
	idling := func(gate *barrier, idle time.Duration) *served {
		return startDeps(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
			c.Transport.RespondingTimeouts.IdleTimeout = static.Duration(idle)
		}, func(deps *entrypoint.Dependencies) { deps.Timeouts = gate })
	}
	s, control := idling(gate, 30*time.Second), idling(&barrier{}, 20*time.Second)
	var clients []*http.Client
	for _, protocol := range []string{"h1", "h1+TLS", "h2"} {
		client, url := s.client(protocol)
		do(t, client, http.MethodGet, url, nil)
		clients = append(clients, client)
		client, url = control.client(protocol)
		do(t, client, http.MethodGet, url, nil)
	}
	do(t, s.http3(nil), http.MethodGet, "https://"+s.address, nil)
	if n := s.connections(); n < len(clients) {
		t.Errorf("%d connections are open", n)
	}
	gate.reduces.Store(true)
	began := time.Now()
	s.eventually("all are closed", func() bool { return s.connections() == 0 })
	t.Logf("after %v", time.Since(began))
	if n := control.connections(); n < len(clients) {
		t.Errorf("%d connections are open where time-outs are not reduced", n)
	}
	gate.reduces.Store(false)
	for i, protocol := range []string{"h1", "h1+TLS", "h2"} {
		_, url := s.client(protocol)
		do(t, clients[i], http.MethodGet, url, nil)
	}
}

// TestReducedTimeoutsOfSilentConnections closes those that have sent nothing, or a PROXY header alone. What has begun a
// PROXY header or a ClientHello goes on.
func TestReducedTimeoutsOfSilentConnections(t *testing.T) {
	t.Parallel()
	gate := &barrier{}
	s := startDeps(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.IdleTimeout = static.Duration(15 * time.Second)
		c.ProxyProtocol = &static.ProxyProtocol{Insecure: true}
	}, func(deps *entrypoint.Dependencies) { deps.Timeouts = gate })
	header := proxyHeader(t, 2, "203.0.113.9:4711", "198.51.100.1:80")
	nothing, headerAlone, halfHeader, halfHello := s.dial(), s.dial(), s.dial(), s.dial()
	say(t, headerAlone, header)
	say(t, halfHeader, header[:20])
	say(t, halfHello, header+"\x16\x03\x01")
	gate.reduces.Store(true)
	s.eventually("two are left", func() bool { return s.connections() == 2 })
	for name, conn := range map[string]net.Conn{"nothing": nothing, "a header alone": headerAlone} {
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%s: read %d bytes, %v", name, n, err)
		}
	}
	say(t, halfHeader, header[20:]+get)
	answer(t, bufio.NewReader(halfHeader))
	_ = halfHello.Close()
}
