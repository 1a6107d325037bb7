package health_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"
	"google.golang.org/grpc"
	realhealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// transport is the proxy's own, as pools hand it to checks.
type transport struct{ *forward.Transport }

// RoundTripper returns a client.
func (t transport) RoundTripper(scheme string, address netip.AddrPort, host string) health.Client {
	key := loadbalancer.UpstreamKey{
		Endpoint: loadbalancer.EndpointKey{Address: address}, Scheme: scheme,
		Dialer: t.Transport,
	}
	if scheme == "https" {
		key.Host = host
	}
	return t.Transport.Connect(key).(loadbalancer.RoundTripper)
}

// Dial is for checks of TCP.
func (t transport) Dial(context.Context, string, netip.AddrPort, string) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}

func newTransport(t *testing.T, trusted *httptest.Server) transport {
	t.Helper()
	var config dynamic.ServersTransport
	config.SetDefaults()
	if trusted.TLS != nil {
		block := &pem.Block{Type: "CERTIFICATE", Bytes: trusted.Certificate().Raw}
		config.RootCAs = append(config.RootCAs, string(pem.EncodeToMemory(block)))
	}
	made, err := forward.NewTransport("test", &config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return transport{made}
}

// TestOwnTransport checks servers over the wire that requests take, and demands that every connection is closed after
// its check.
func TestOwnTransport(t *testing.T) {
	for _, scheme := range []string{"http", "h2c", "https"} {
		t.Run(scheme, func(t *testing.T) {
			var open atomic.Int64
			left := make(chan struct{}, 100)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/redirect" {
					http.Redirect(w, r, "/health", http.StatusFound)
				}
				if r.Host != "example.com" || r.Header.Get("X-Token") != "a" {
					w.WriteHeader(http.StatusTeapot)
				}
			}))
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					open.Add(1)
				} else if state == http.StateClosed {
					open.Add(-1)
					left <- struct{}{}
				}
			}
			start(s, scheme)
			defer s.Close()
			check := check(t, func(c *dynamic.ServerHealthCheck) {
				c.Path, c.Headers = "/redirect?x", map[string]string{"X-Token": "a"}
			})
			target := health.Target{Scheme: scheme, Address: addressOf(s.Listener), Host: "example.com", Connect: newTransport(t,
				s)}
			if got := first(t, target, check); !got.Up || got.Reason != "GET /health: status 200" {
				t.Errorf("got %v", got)
			}
			for open.Load() != 0 {
				<-left
			}
		})
	}
}

func start(s *httptest.Server, scheme string) {
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // It reports clients that close the connection on purpose.
	if scheme == "https" {
		s.EnableHTTP2 = true
		s.StartTLS()
		return
	}
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(scheme == "http")
	s.Config.Protocols.SetUnencryptedHTTP2(scheme == "h2c")
	s.Start()
}

func TestOwnTransportSpeaksGRPC(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, service := grpc.NewServer(), realhealth.NewServer()
	grpc_health_v1.RegisterHealthServer(s, service)
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	check := check(t, func(c *dynamic.ServerHealthCheck) { c.Mode = "grpc" })
	target := health.Target{Scheme: "http", Address: addressOf(listener), Connect: newTransport(t, &httptest.Server{})}
	if got := first(t, target, check); !got.Up {
		t.Errorf("got %v", got)
	}
	service.Shutdown()
	if got := first(t, target, check); got.Up || got.Reason != "gRPC health: NOT_SERVING" {
		t.Errorf("got %v", got)
	}
	s.Stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := first(t, target, check); got.Up || got.Reason != "connect: connection refused" {
		t.Errorf("got %v", got)
	}
}

// TestOwnTransportGivesUp stops a probe of an endpoint that hangs, and runs another one out of time.
func TestOwnTransportGivesUp(t *testing.T) {
	for _, scheme := range []string{"http", "h2c", "https"} {
		t.Run(scheme, func(t *testing.T) {
			asked, gone := make(chan struct{}, 2), make(chan struct{}, 2)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done()
				gone <- struct{}{}
			}))
			start(s, scheme)
			defer s.Close()
			target := health.Target{Scheme: scheme, Address: addressOf(s.Listener), Host: "example.com", Connect: newTransport(t,
				s)}
			prober := health.NewProber(1)
			defer prober.Close()
			probe := prober.Start(target, check(t, nil), func(v health.Result) { t.Errorf("called after the end: %v", v) })
			<-asked
			probe.Stop()
			<-gone
			short := check(t, func(c *dynamic.ServerHealthCheck) { c.Timeout = ptypes.Duration(200 * time.Millisecond) })
			if got := first(t, target, short); got.Up || got.Reason != "GET /: no answer within 200ms" {
				t.Errorf("got %v", got)
			}
		})
	}
}

func check(t *testing.T, change func(*dynamic.ServerHealthCheck)) health.Check {
	t.Helper()
	var config dynamic.ServerHealthCheck
	config.SetDefaults()
	if change != nil {
		change(&config)
	}
	check, err := health.NewCheck(&config)
	if err != nil {
		t.Fatal(err)
	}
	return check
}

func first(t *testing.T, target health.Target, check health.Check) health.Result {
	t.Helper()
	prober := health.NewProber(1)
	defer prober.Close()
	results := make(chan health.Result, 1)
	prober.Start(target, check, func(v health.Result) { results <- v })
	return <-results
}

func addressOf(listener net.Listener) netip.AddrPort {
	return netip.MustParseAddrPort(listener.Addr().String())
}

// lateIdentity is Sluice's identity, which is missing for a time.
type lateIdentity struct{ missing atomic.Bool }

var errNoIdentity = errors.New("no X.509-SVID yet")

// Authenticate accepts every server.
func (*lateIdentity) Authenticate(settings *tls.Config, _ *dynamic.Spiffe) error {
	settings.InsecureSkipVerify = true
	return nil
}

// Ready fails while the identity is missing.
func (i *lateIdentity) Ready() error {
	if i.missing.Swap(false) { // The first check alone finds none.
		return errNoIdentity
	}
	return nil
}

// TestMissingIdentityIsNoFailure demands that a check without an identity says nothing of the server, and is repeated
// soon.
func TestMissingIdentityIsNoFailure(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	start(s, "https")
	defer s.Close()
	identity := &lateIdentity{}
	identity.missing.Store(true)
	var config dynamic.ServersTransport
	config.SetDefaults()
	config.Spiffe = &dynamic.Spiffe{}
	made, err := forward.NewTransport("test", &config, identity)
	if err != nil {
		t.Fatal(err)
	}
	target := health.Target{Scheme: "https", Address: addressOf(s.Listener), Host: "example.com", Connect: transport{made}}
	if got := first(t, target, check(t, nil)); !got.Up || identity.missing.Load() {
		t.Errorf("got %v", got)
	}
}
