package h3_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/entrypoint/h3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeout bounds every wait of a test.
const timeout = time.Minute

// await waits for a channel.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// served is a running server.
type served struct {
	*h3.Server
	url  string
	stop context.CancelFunc
	// ended gets what ServePackets has returned.
	ended chan error
	// admitted and closed count connections.
	admitted, closed chan struct{}
}

// start serves a handler until the test ends. change may be nil.
func start(t *testing.T, handler http.HandlerFunc, change func(*h3.Config)) *served {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	own := &tls.Config{ //nolint:gosec // QUIC has TLS 1.3.
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}
	s := &served{ended: make(chan error, 1), admitted: make(chan struct{}, 100), closed: make(chan struct{}, 100)}
	config := &h3.Config{
		Handler: handler,
		TLS:     func(*tls.ClientHelloInfo) (*tls.Config, error) { return own, nil },
		Admit: func(ctx context.Context, _ *h3.Conn) (context.Context, func(), bool) {
			s.admitted <- struct{}{}
			return ctx, func() { s.closed <- struct{}{} }, true
		},
		OpeningTimeout: timeout,
		Process:        h3.NewProcess(),
	}
	if change != nil {
		change(config)
	}
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Server, s.url = h3.New(config), "https://"+socket.LocalAddr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s.stop = stop
	go func() { s.ended <- s.ServePackets(ctx, socket) }()
	t.Cleanup(func() {
		stop()
		if err := await(t, s.ended, "the end"); err != nil {
			t.Error(err)
		}
		for range len(s.admitted) {
			await(t, s.closed, "the end of a connection")
		}
	})
	return s
}

// client returns a client with a connection of its own.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http3.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // The certificate is generated.
	}
	t.Cleanup(func() { _ = transport.Close() })
	return &http.Client{Transport: transport}
}

// get sends a request and returns the body of the response.
func (s *served) get(t *testing.T, client *http.Client) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// TestHandshakesAreRefused has the callbacks refuse connections: none reaches the handler.
func TestHandshakesAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*h3.Config){
		"no configuration": func(c *h3.Config) {
			c.TLS = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }
		},
		"an error": func(c *h3.Config) {
			c.TLS = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, io.ErrUnexpectedEOF }
		},
		"not admitted": func(c *h3.Config) {
			c.Admit = func(context.Context, *h3.Conn) (context.Context, func(), bool) { return nil, nil, false }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			causes := make(chan h3.Cause, 8)
			s := start(t, hello, func(c *h3.Config) {
				c.Failed = func(cause h3.Cause) { causes <- cause }
				change(c)
			})
			if text, err := s.get(t, client(t)); err == nil {
				t.Errorf("got %q", text)
			}
			want := h3.CauseHandshake
			if name == "not admitted" {
				want = h3.CauseRefused
			}
			if cause := await(t, causes, "the cause"); cause != want {
				t.Errorf("the cause is %s", cause)
			}
		})
	}
}

// TestIdleConnectionsEnd ends a connection whose client keeps it, and cuts a response that takes too long.
func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		// The request has to come in the time, also on a busy machine.
		s := start(t, hello, func(c *h3.Config) { c.IdleTimeout = 3 * time.Second })
		if text, err := s.get(t, client(t)); text != "hello" || err != nil {
			t.Errorf("got %q, error %v", text, err)
		}
		await(t, s.closed, "the end of the connection")
		s.closed <- struct{}{}
	})
	t.Run("a head that does not end", func(t *testing.T) {
		t.Parallel()
		s := start(t, hello, func(c *h3.Config) { c.IdleTimeout = 3 * time.Second })
		conn, err := quic.DialAddr(t.Context(), strings.TrimPrefix(s.url, "https://"), &tls.Config{
			InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, //nolint:gosec // It is generated.
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := conn.OpenStreamSync(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Write([]byte{1, 40, 0}); err != nil { // HEADERS with 40 bytes.
			t.Fatal(err)
		}
		await(t, conn.Context().Done(), "the end of the connection")
	})
	t.Run("slow response", func(t *testing.T) {
		t.Parallel()
		ended := make(chan error, 1)
		s := start(t, func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.Copy(w, endless{})
			ended <- err
		}, func(c *h3.Config) { c.WriteTimeout = 100 * time.Millisecond })
		if _, err := s.get(t, client(t)); err == nil {
			t.Error("the response is complete")
		}
		if err := await(t, ended, "the end of the handler"); err == nil {
			t.Error("the handler wrote everything")
		}
	})
}

// endless has no end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestShutdownReturnsWithItsContext waits for a request no longer than the context.
func TestShutdownReturnsWithItsContext(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	s := start(t, func(_ http.ResponseWriter, r *http.Request) {
		close(running)
		<-r.Context().Done()
	}, nil)
	failed := make(chan error, 1)
	own := client(t)
	go func() {
		_, err := s.get(t, own)
		failed <- err
	}()
	await(t, running, "the request")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); err == nil || s.State() != h3.Waiting {
		t.Errorf("error %v, state %d", err, s.State())
	}
	s.stop()
	if err := await(t, failed, "the end of the request"); err == nil {
		t.Error("the request was answered")
	}
}

// TestSocketThatFails reports a socket that is closed elsewhere.
func TestSocketThatFails(t *testing.T) {
	t.Parallel()
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := h3.New(&h3.Config{Process: h3.NewProcess(), OpeningTimeout: timeout})
	ended := make(chan error, 1)
	go func() { ended <- server.ServePackets(t.Context(), socket) }()
	for server.State() == h3.Waiting {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	_ = socket.Close()
	if err := await(t, ended, "the error"); err == nil || server.State() != h3.Failed {
		t.Errorf("error %v, state %d", err, server.State())
	}
}

// TestGate has clients prove their addresses above a rate, and where a limit is close.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		verify := h3.NewGate(10, nil)
		count := func() (free int) {
			for range 100 {
				if !verify(nil) {
					free++
				}
			}
			return free
		}
		if n := count(); n != 10 {
			t.Errorf("%d connections at once", n)
		}
		<-time.NewTimer(200 * time.Millisecond).C
		if n := count(); n != 2 {
			t.Errorf("%d connections in 0.2 seconds", n)
		}
		<-time.NewTimer(time.Hour).C
		if n := count(); n != 10 {
			t.Errorf("%d connections after a pause", n)
		}
	})
	if !h3.NewGate(-1, nil)(nil) || !h3.NewGate(0, func(net.Addr) bool { return true })(nil) {
		t.Error("an address need not be proven")
	}
}

// TestWindowsHaveABudget refuses growth beyond the budget of the process, and has room again.
func TestWindowsHaveABudget(t *testing.T) {
	t.Parallel()
	p := h3.NewProcess()
	grown := int64(0)
	for p.Grow(1 << 20) {
		grown++
	}
	if grown != 128 {
		t.Errorf("windows have grown by %d MiB", grown)
	}
	if p.Grow(-1 << 20); !p.Grow(1 << 20) {
		t.Error("no room again")
	}
}

// TestRetireInTurn sends GOAWAY on a connection that is selected while the selection of the next one waits.
func TestRetireInTurn(t *testing.T) {
	t.Parallel()
	s := start(t, hello, nil)
	for range 2 {
		if text, err := s.get(t, client(t)); text != "hello" {
			t.Fatalf("got %q, %v", text, err)
		}
	}
	next, retired := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(retired)
		s.Retire(func(net.Conn) bool {
			<-next
			return true
		})
	}()
	for range 2 {
		next <- struct{}{}
		await(t, s.closed, "the end of a connection")
		if len(s.closed) > 0 {
			t.Error("the other connection has ended with it")
		}
	}
	await(t, retired, "the end of Retire")
	s.closed <- struct{}{}
	s.closed <- struct{}{}
}
