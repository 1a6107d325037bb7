package entrypoint_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// shake makes a handshake with a server name on a connection of its own.
func (s *served) shake(ctx context.Context, name string) error {
	//nolint:gosec // The certificate is generated.
	dialer := tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// startOneHandshake starts an entrypoint that computes one handshake at a time, and returns a channel with which those
// for held.example.com go on.
func startOneHandshake(
	t *testing.T, readTimeout time.Duration, counter *refusals,
) (s *served, held, release chan struct{}) {
	t.Helper()
	held, release = make(chan struct{}, 10), make(chan struct{})
	s = startDeps(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.Limits.MaxHandshakes = 1
		c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(readTimeout)
	}, func(deps *entrypoint.Dependencies) { deps.Refusals = counter })
	s.tls.mutex.Lock()
	defer s.tls.mutex.Unlock()
	s.tls.before = func(name string) {
		if name == "held.example.com" {
			held <- struct{}{}
			<-release
		}
	}
	return s, held, release
}

// TestHandshakesAtATime has a handshake wait for another one that is computed, while open connections are served.
func TestHandshakesAtATime(t *testing.T) {
	t.Parallel()
	s, held, release := startOneHandshake(t, timeout, nil)
	client, url := s.client("h1+TLS")
	do(t, client, http.MethodGet, url, nil)
	var work sync.WaitGroup
	for _, name := range []string{"held.example.com", "next.example.com"} {
		work.Go(func() {
			if err := s.shake(t.Context(), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if name == "held.example.com" {
			receive(t, held, "the first handshake")
		}
	}
	for range 50 {
		do(t, client, http.MethodGet, url, nil)
	}
	s.tls.mutex.Lock()
	if slices.Contains(s.tls.asked, "next.example.com") {
		t.Error("two handshakes are computed at a time")
	}
	s.tls.mutex.Unlock()
	close(release)
	work.Wait()
}

// TestHandshakeWaitsInVain refuses a handshake that has waited for as long as one may take.
func TestHandshakeWaitsInVain(t *testing.T) {
	t.Parallel()
	counter := &refusals{}
	s, held, release := startOneHandshake(t, 50*time.Millisecond, counter)
	var work sync.WaitGroup
	// On a busy machine the time of a handshake may be over before its ClientHello is read.
	reached := make(chan struct{})
	work.Go(func() {
		for over := false; !over; {
			_ = s.shake(t.Context(), "held.example.com") // It has no time left.
			select {
			case <-reached:
				over = true
			default:
			}
		}
	})
	receive(t, held, "the first handshake")
	close(reached)
	attempts := 0
	s.eventually("a refusal", func() bool {
		if err := s.shake(t.Context(), "next.example.com"); err == nil {
			t.Error("a second handshake succeeded")
		}
		attempts++
		return counter.counted()["handshakes"] > 0
	})
	if refused := counter.counted()["handshakes"]; refused > attempts {
		t.Errorf("%d refusals of %d handshakes", refused, attempts)
	}
	close(release)
	work.Wait()
}

// deaf is a connection whose client reads nothing.
type deaf struct {
	net.Conn
	closed chan struct{}
}

func (d deaf) Read([]byte) (int, error) {
	<-d.closed
	return 0, io.EOF
}

// TestSlowHandshakesHoldNoPlace has clients begin a handshake and send nothing more, with a part of their ClientHello
// or all of it, and others fail.
func TestSlowHandshakesHoldNoPlace(t *testing.T) {
	t.Parallel()
	s, _, _ := startOneHandshake(t, timeout, nil)
	closed := make(chan struct{})
	var work sync.WaitGroup
	defer work.Wait()
	defer close(closed)
	for range 5 {
		say(t, s.dial(), "\x16\x03\x01\x02\x00\x01")
		s.raw("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00")
		client := tls.Client(deaf{s.dial(), closed}, &tls.Config{ServerName: "deaf.example.com"}) //nolint:gosec // see shake
		work.Go(func() { _ = client.HandshakeContext(t.Context()) })
	}
	s.eventually("the handshakes of deaf clients", func() bool {
		s.tls.mutex.Lock()
		defer s.tls.mutex.Unlock()
		count := 0
		for _, name := range s.tls.asked {
			if name == "deaf.example.com" {
				count++
			}
		}
		return count == 5
	})
	if err := s.shake(t.Context(), "a.example.com"); err != nil {
		t.Error(err)
	}
}

// TestRetriedHandshakes has clients offer a key that the server does not take, so that their ClientHello is answered
// by a HelloRetryRequest: each handshake has a place twice.
func TestRetriedHandshakes(t *testing.T) {
	t.Parallel()
	s, _, _ := startOneHandshake(t, timeout, nil)
	s.tls.use(newTLS(t, &dynamic.TLSOptions{CurvePreferences: []string{"CurveP384"}}, certificate.NewTickets()))
	var work sync.WaitGroup
	for range 10 {
		work.Go(func() {
			//nolint:gosec // The certificate is generated.
			dialer := tls.Dialer{Config: &tls.Config{
				InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.CurveP256, tls.CurveP384},
			}}
			conn, err := dialer.DialContext(t.Context(), "tcp", s.address)
			if err != nil {
				t.Error(err)
				return
			}
			if state := conn.(*tls.Conn).ConnectionState(); !state.HelloRetryRequest {
				t.Error("there was no HelloRetryRequest")
			}
			_ = conn.Close()
		})
	}
	work.Wait()
}

// TestHandshakeRate refuses handshakes over TCP and QUIC once the tokens are used up, and goes on with open
// connections.
func TestHandshakeRate(t *testing.T) {
	t.Parallel()
	for reason, change := range map[string]func(*static.EntryPoint){
		"handshake_rate":            func(c *static.EntryPoint) { c.Transport.Limits.MaxHandshakeRate = 1 },
		"handshake_rate_per_client": func(c *static.EntryPoint) { c.Transport.Limits.MaxHandshakeRatePerClient = 1 },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			counter := &refusals{}
			s := startDeps(t, http.HandlerFunc(hello), change, func(deps *entrypoint.Dependencies) { deps.Refusals = counter })
			client, url := s.client("h1+TLS")
			do(t, client, http.MethodGet, url, nil)
			s.eventually("a refusal over TCP", func() bool { return s.shake(t.Context(), "a.example.com") != nil })
			do(t, client, http.MethodGet, url, nil)
			s.eventually("a token", func() bool { return s.shake(t.Context(), "a.example.com") == nil })
			s.limitsQUIC()
			if counted := counter.counted(); len(counted) != 1 || counted[reason] < 2 {
				t.Errorf("refused %v", counted)
			}
			s.logged("transport.limits.maxHandshakeRate")
		})
	}
}
