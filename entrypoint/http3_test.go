package entrypoint_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// http3 returns a client of HTTP/3. config may be nil.
func (s *served) http3(config *tls.Config) *http.Client {
	if config == nil {
		config = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
	}
	transport := &http3.Transport{TLSClientConfig: config}
	s.t.Cleanup(func() { _ = transport.Close() })
	return &http.Client{Transport: transport}
}

// repeat answers with the length and the hash of the body, and the body itself twice.
func repeat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Sum", fmt.Sprintf("%x", sha256.Sum256(body)))
	_, _ = w.Write(body)
	_, _ = w.Write(body)
}

// TestHTTP3Transfers sends bodies both ways that are larger than all windows, on networks that lose datagrams.
func TestHTTP3Transfers(t *testing.T) {
	for name, share := range map[string]float64{"no loss": 0, "1 percent": 0.01, "5 percent": 0.05} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			size := 6 << 20
			if share > 0 {
				size = 1 << 19
			}
			s := start(t, http.HandlerFunc(repeat), nil)
			client := s.over(newQUICProxy(t, s.address, loses(share)), nil)
			body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
			response, text := do(t, client, http.MethodPost, "https://"+s.address, bytes.NewReader(body))
			if want := fmt.Sprintf("%x", sha256.Sum256(body)); response.Header.Get("Sum") != want {
				t.Error("another body has arrived")
			}
			if text != string(body)+string(body) {
				t.Errorf("%d bytes have come back", len(text))
			}
			for range 20 {
				if _, text := do(t, client, http.MethodPost, "https://"+s.address, strings.NewReader("x")); text != "xx" {
					t.Errorf("got %q", text)
				}
			}
		})
	}
}

// TestHTTP3Bodies tells requests without a body from those with one, which HTTP/3 does not in their heads.
func TestHTTP3Bodies(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		none := r.Body == http.NoBody
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprint(w, none, " ", r.ContentLength, " ", string(body))
	}), nil)
	client := s.http3(nil)
	for _, test := range []struct {
		method string
		body   io.Reader
		want   string
	}{
		{http.MethodGet, nil, "true 0 "},
		{http.MethodDelete, nil, "true 0 "},
		{"PROPFIND", nil, "true 0 "},
		{http.MethodGet, io.MultiReader(strings.NewReader("ab"), strings.NewReader("c")), "false -1 abc"},
		{http.MethodGet, strings.NewReader("abc"), "false 3 abc"},
		{http.MethodPost, io.MultiReader(strings.NewReader("abc")), "false -1 abc"},
	} {
		if _, got := do(t, client, test.method, "https://"+s.address, test.body); got != test.want {
			t.Errorf("%s: got %q, want %q", test.method, got, test.want)
		}
	}
}

// TestHTTP3Answers has responses whose heads HTTP/3 writes in another way.
func TestHTTP3Answers(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hop":
			w.Header().Set("Keep-Alive", "timeout=5")
			w.Header().Set("Transfer-Encoding", "chunked")
			w.Header().Set("Upgrade", "h2c")
			w.Header().Set("Connection", "keep-alive")
		case "/length":
			w.Header().Set("Content-Length", "many")
		}
		hello(w, r)
	}), nil)
	client := s.http3(nil)
	response, body := do(t, client, http.MethodGet, "https://"+s.address+"/hop", nil)
	for _, name := range []string{"Keep-Alive", "Transfer-Encoding", "Upgrade", "Connection"} {
		if value := response.Header.Get(name); value != "" {
			t.Errorf("%s: %s", name, value)
		}
	}
	if body != "hello" || response.Header.Get("Alt-Svc") != "" {
		t.Errorf("body %q, header %v", body, response.Header)
	}
	if _, body := do(t, client, http.MethodGet, "https://"+s.address+"/length", nil); body != "hello" {
		t.Errorf("body %q", body)
	}
	response, _ = do(t, client, http.MethodHead, "https://"+s.address, nil)
	if response.Header.Get("Content-Length") != "" {
		t.Errorf("a length is made up: %v", response.Header)
	}
}

// TestHTTP3FollowsTheName chooses TLS options by SNI, as on TCP.
func TestHTTP3FollowsTheName(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(connectionState), nil)
	strict := newTLS(t, &dynamic.TLSOptions{MinVersion: "VersionTLS13"}, nil)
	s.tls.set("strict.example.com", strict)
	s.tls.set("broken.example.com", nil)
	s.tls.set("old.example.com", newTLS(t, &dynamic.TLSOptions{MaxVersion: "VersionTLS12"}, nil))
	s.tls.set("client.example.com", newTLS(t,
		&dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{ClientAuthType: "RequireAnyClientCert"}}, nil))
	certificate := clientCertificate(t)
	for _, test := range []struct {
		name string
		with []tls.Certificate
		want string
	}{
		{"Strict.example.com", nil, fmt.Sprintf("%d strict.example.com false", strict.Fingerprint)},
		{"other.example.com", nil, fmt.Sprintf("%d other.example.com false", s.tls.fallback.Fingerprint)},
		{"", nil, fmt.Sprintf("%d  false", s.tls.fallback.Fingerprint)},
		{"broken.example.com", nil, ""},
		{"old.example.com", nil, ""},
		{"client.example.com", nil, ""},
		{"client.example.com", []tls.Certificate{certificate}, "client.example.com false"},
	} {
		client := s.http3(&tls.Config{
			InsecureSkipVerify: true, ServerName: test.name, Certificates: test.with, //nolint:gosec // It is generated.
		})
		_, got, err := try(t, client, http.MethodGet, "https://"+s.address, nil)
		if (err != nil) != (test.want == "") || !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: got %q, want %q, error %v", test.name, got, test.want, err)
		}
		if err != nil {
			if cause := receive(t, s.causes, "the cause"); cause != "handshake" {
				t.Errorf("%s: the cause is %s", test.name, cause)
			}
		}
	}
}

// TestHTTP3ConnectionsAreLimited counts connections over TCP and QUIC together.
func TestHTTP3ConnectionsAreLimited(t *testing.T) {
	for name, limit := range map[string]func(*static.EntryPoint){
		"all":        func(c *static.EntryPoint) { c.Transport.Limits.MaxConnections = 1 },
		"per client": func(c *static.EntryPoint) { c.Transport.Limits.MaxConnectionsPerClient = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(hello), limit)
			tcp, url := s.client("h1+TLS")
			do(t, tcp, http.MethodGet, url, nil)
			if _, _, err := try(t, s.http3(nil), http.MethodGet, url, nil); err == nil {
				t.Error("one more connection was accepted")
			}
			if cause := receive(t, s.causes, "the refusal"); cause != "refused" {
				t.Errorf("the cause is %s", cause)
			}
			tcp.CloseIdleConnections()
			s.eventually("room", func() bool { return s.connections() == 0 })
			do(t, s.http3(nil), http.MethodGet, url, nil)
		})
	}
}

// TestHTTP3KeepAliveLimits ends a connection with GOAWAY behind its last request, also behind Connection: close, which
// routers answer to requests for hosts with other TLS options.
func TestHTTP3KeepAliveLimits(t *testing.T) {
	closes := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		http.Error(w, "misdirected", http.StatusMisdirectedRequest)
	}
	for name, test := range map[string]struct {
		change  func(*static.EntryPoint)
		handler http.HandlerFunc
	}{
		"requests": {func(c *static.EntryPoint) { c.Transport.KeepAliveMaxRequests = 2 }, hello},
		"time":     {func(c *static.EntryPoint) { c.Transport.KeepAliveMaxTime = 1 }, hello},
		"close":    {nil, closes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, test.handler, test.change)
			client := s.http3(nil)
			s.eventually("another connection", func() bool {
				// A request that the client sends before GOAWAY has reached it may fail.
				_, _, _ = try(t, client, http.MethodGet, "https://"+s.address, nil)
				return s.accepted() > 2
			})
		})
	}
}

// TestHTTP3Connect refuses CONNECT, also that with a protocol (RFC 9220).
func TestHTTP3Connect(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodConnect, "https://"+s.address+"/chat", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Proto = "websocket"
	response, err := s.http3(nil).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if record := s.record(); response.StatusCode != http.StatusNotImplemented || record.Version != "HTTP/3.0" {
		t.Errorf("status %d, record %+v", response.StatusCode, record)
	}
}

// clientCertificate makes a certificate that no authority has signed.
func clientCertificate(t *testing.T) tls.Certificate {
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
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestPortOfUDPInUse listens on another port of the system's choice where that of TCP is in use over UDP, and not where
// the port is configured.
func TestPortOfUDPInUse(t *testing.T) {
	t.Parallel()
	taken := ""
	occupying := func(ctx context.Context, network, address string) (net.Listener, error) {
		listener, err := new(net.ListenConfig).Listen(ctx, network, address)
		for err == nil && taken == "" {
			socket, failed := new(net.ListenConfig).ListenPacket(ctx, "udp", listener.Addr().String())
			if failed == nil {
				taken = listener.Addr().String()
				t.Cleanup(func() { _ = socket.Close() })
				break
			}
			if !errors.Is(failed, syscall.EADDRINUSE) {
				return nil, errors.Join(failed, listener.Close())
			}
			before := listener // Another test has the port of UDP.
			listener, err = new(net.ListenConfig).Listen(ctx, network, address)
			_ = before.Close()
		}
		return listener, err
	}
	listen := func(address string) (*entrypoint.Entrypoint, error) {
		config := newConfig()
		config.Address, config.HTTP3 = address, new(static.HTTP3)
		e, err := entrypoint.New("web", config, http.HandlerFunc(hello), &selector{fallback: newTLS(t, nil, nil)},
			entrypoint.Dependencies{Logger: newMemory(t), Listen: occupying})
		if err != nil {
			t.Fatal(err)
		}
		return e, e.Listen(t.Context())
	}
	e, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if e.Addr().String() == taken {
		t.Error("it listens where UDP is in use")
	}
	if _, err := listen(taken); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("on the port itself: error %v", err)
	}
}
