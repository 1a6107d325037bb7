package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

// connector reaches endpoints with net/http, as a transport of the proxy would.
type connector struct {
	roots *x509.CertPool
	// asked is the last location that was requested.
	asked atomic.Pointer[[3]string]
}

// RoundTripper returns a transport that is used for one check.
func (c *connector) RoundTripper(scheme string, address netip.AddrPort, host string) Client {
	c.asked.Store(&[3]string{scheme, address.String(), host})
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address.String())
		},
		TLSClientConfig: &tls.Config{RootCAs: c.roots, ServerName: (&url.URL{Host: host}).Hostname()},
		Protocols:       new(http.Protocols),
	}
	switch scheme {
	case "h2c":
		transport.Protocols.SetUnencryptedHTTP2(true)
	case "https":
		transport.Protocols.SetHTTP2(true)
		transport.Protocols.SetHTTP1(true)
	default:
		transport.Protocols.SetHTTP1(true)
	}
	return transport
}

// Dial connects, with TLS for the scheme tls.
func (c *connector) Dial(ctx context.Context, scheme string, address netip.AddrPort, host string) (net.Conn, error) {
	c.asked.Store(&[3]string{scheme, address.String(), host})
	if scheme == "tls" {
		config := &tls.Config{RootCAs: c.roots, ServerName: (&url.URL{Host: host}).Hostname()}
		return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address.String())
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address.String())
}

// server is a server on loopback.
type server struct {
	*httptest.Server

	// open counts its connections, and left receives when one has ended.
	open atomic.Int64
	left chan struct{}
}

// serve starts a server that speaks HTTP/1.1 and HTTP/2, with TLS for the scheme https.
func serve(t testing.TB, scheme string, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{Server: httptest.NewUnstartedServer(handler), left: make(chan struct{}, 1000)}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // It reports every handshake that fails on purpose.
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
			s.left <- struct{}{}
		case http.StateActive, http.StateIdle:
		}
	}
	if scheme == "https" {
		s.EnableHTTP2 = true
		s.Config.Protocols = nil
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *server) address() netip.AddrPort { return netip.MustParseAddrPort(s.Listener.Addr().String()) }

// target returns the server as it is known by a name, "" by its address.
func (s *server) target(scheme, host string) Target {
	c := &connector{}
	if s.TLS != nil {
		c.roots = x509.NewCertPool()
		c.roots.AddCert(s.Certificate())
	}
	return Target{Scheme: scheme, Address: s.address(), Host: host, Connect: c}
}

// first returns the first result of a check.
func first(t testing.TB, target Target, change func(*dynamic.ServerHealthCheck)) Result {
	t.Helper()
	prober := NewProber(1)
	defer prober.Close()
	results := make(chan Result, 1)
	prober.Start(target, every(t, time.Hour, change), func(v Result) { results <- v })
	select {
	case v := <-results:
		return v
	case <-t.Context().Done():
		t.Fatal("no result")
		return Result{}
	}
}

// wants compares a result.
func wants(t testing.TB, got Result, up bool, reason string) {
	t.Helper()
	if got.Up != up || got.Reason != reason {
		t.Errorf("got %v, %q, want %v, %q", got.Up, got.Reason, up, reason)
	}
	if got.At.IsZero() {
		t.Error("there is no time")
	}
}

// quickly sets a time-out for what shall time out.
func quickly(c *dynamic.ServerHealthCheck) { c.Timeout = ptypes.Duration(50 * time.Millisecond) }
