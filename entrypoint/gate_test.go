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
	reduces atomic.Bool
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

func (b *barrier) Shut() bool {
	select {
	case <-b.open:
		return false
	default:
		return true
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
	s.logged("connections refused: overload.actions.stopAccepting is active")
	close(gate.open)
	for _, conn := range []net.Conn{first, second} {
		answer(t, bufio.NewReader(conn))
	}
	do(t, s.http3(nil), http.MethodGet, url, nil)
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

// TestReducedTimeouts has connections of each protocol be idle for a part of the time-out.
func TestReducedTimeouts(t *testing.T) {
	t.Parallel()
	gate := &barrier{open: make(chan struct{})}
	close(gate.open)
	s := startDeps(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.IdleTimeout = static.Duration(5 * time.Second)
	}, func(deps *entrypoint.Dependencies) { deps.Gate = gate })
	var clients []*http.Client
	for _, protocol := range []string{"h1", "h1+TLS", "h2"} {
		client, url := s.client(protocol)
		do(t, client, http.MethodGet, url, nil)
		clients = append(clients, client)
	}
	do(t, s.http3(nil), http.MethodGet, "https://"+s.address, nil)
	if n := s.connections(); n < len(clients) {
		t.Errorf("%d connections are open", n)
	}
	gate.reduces.Store(true)
	began := time.Now()
	s.eventually("all are closed", func() bool { return s.connections() == 0 })
	t.Logf("after %v", time.Since(began))
	gate.reduces.Store(false)
	for i, protocol := range []string{"h1", "h1+TLS", "h2"} {
		_, url := s.client(protocol)
		do(t, clients[i], http.MethodGet, url, nil)
	}
}
