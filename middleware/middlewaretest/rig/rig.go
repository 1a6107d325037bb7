// Package rig runs a middleware between a real entrypoint and a real service, for its tests.
//
// In flows the middleware and an endpoint; out flow responses, records and the pool of the service. Only tests import
// it, and it never leaves a goroutine or a listener behind when the test has ended.
package rig

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Rig is an entrypoint, the middleware, and a service with one endpoint.
type Rig struct {
	// Address is the entrypoint's, as host:port.
	Address string
	// Pool is the service's.
	Pool *loadbalancer.Pool

	t       *testing.T
	scheme  string
	records chan telemetry.Record
}

// Finished keeps a record.
func (g *Rig) Finished(record *telemetry.Record) { g.records <- *record }

// Setup is what a Rig is made of.
type Setup struct {
	Wrap func(http.Handler) http.Handler
	// upstream is h1 or h2c.
	Upstream string
	Endpoint http.HandlerFunc
	// server takes the endpoint's place.
	Server string
	Change func(*static.EntryPoint)
	// HTTP3 has the entrypoint speak HTTP/3 beside, with a generated certificate. Requests have https URLs then.
	HTTP3 bool
	// ResponseHeaderTimeout is how long the endpoint has to begin its response; 0 is no limit.
	ResponseHeaderTimeout time.Duration
}

// Matrix runs a test on every pair of protocols.
func Matrix(t *testing.T, test func(t *testing.T, client, upstream string)) {
	t.Helper()
	for _, client := range []string{"h1", "h2c"} {
		for _, upstream := range []string{"h1", "h2c"} {
			t.Run(client+"-"+upstream, func(t *testing.T) {
				t.Parallel()
				test(t, client, upstream)
			})
		}
	}
}

// New starts a rig, which ends with the test.
func New(t *testing.T, s Setup) *Rig {
	t.Helper()
	g := &Rig{t: t, records: make(chan telemetry.Record, 1000), scheme: "http"}
	if s.Server == "" {
		server := httptest.NewUnstartedServer(s.Endpoint)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		t.Cleanup(server.Close)
		s.Server = server.URL
		if s.Upstream == "h2c" {
			s.Server = strings.Replace(s.Server, "http:", "h2c:", 1)
		}
	}
	var timeouts dynamic.ForwardingTimeouts
	if err := timeouts.ResponseHeaderTimeout.Set(s.ResponseHeaderTimeout.String()); err != nil {
		t.Fatal(err)
	}
	transport, err := forward.NewTransport("test@file", &dynamic.ServersTransport{ForwardingTimeouts: &timeouts}, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := loadbalancer.NewServerSpec(dynamic.Server{URL: s.Server})
	if err != nil {
		t.Fatal(err)
	}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	g.Pool = registry.NewPool("svc@file")
	registry.Configure(g.Pool, loadbalancer.PoolSpec{
		Name: "svc@file", Dialer: transport,
		Servers: []loadbalancer.ServerSpec{spec},
	})
	t.Cleanup(func() { registry.Release("svc@file") })
	g.listen(s.Wrap(forward.NewService(g.Pool, forward.Options{Service: "svc@file", FlushInterval: -1})), &s)
	return g
}

func (g *Rig) listen(handler http.Handler, s *Setup) {
	g.t.Helper()
	config := new(static.EntryPoint)
	config.SetDefaults()
	config.Address = "127.0.0.1:0"
	var selector entrypoint.TLSSelector
	if s.HTTP3 {
		config.HTTP3, selector, g.scheme = new(static.HTTP3), newGenerated(g.t), "https"
	}
	if s.Change != nil {
		s.Change(config)
	}
	e, err := entrypoint.New("web", config, handler, selector,
		entrypoint.Dependencies{Logger: telemetry.Discard{}, Sinks: []entrypoint.Sink{g}})
	if err != nil {
		g.t.Fatal(err)
	}
	if err := e.Listen(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	g.Address = e.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(g.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- e.Serve(ctx) }()
	g.t.Cleanup(func() {
		stop()
		if err := http1test.Receive(g.t, ended, "the end of Serve"); err != nil {
			g.t.Error(err)
		}
	})
}

// Record returns the next finished record.
func (g *Rig) Record() telemetry.Record {
	g.t.Helper()
	return http1test.Receive(g.t, g.records, "a record")
}

// generated selects a generated certificate for all names.
type generated struct{ options *certificate.Options }

func newGenerated(t *testing.T) generated {
	t.Helper()
	set, problems := certificate.NewSet(nil, nil)
	options, err := certificate.NewOptions("default", nil, func() *certificate.Set { return set }, nil,
		certificate.NewTickets())
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return generated{options}
}

// SelectTLS implements entrypoint.TLSSelector.
func (g generated) SelectTLS(string) (*certificate.Options, bool) { return g.options, true }

// Client returns a client that speaks a protocol, h1 or h2c.
func (g *Rig) Client(protocol string) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), ExpectContinueTimeout: http1test.Timeout}
	transport.Protocols.SetHTTP1(protocol == "h1")
	transport.Protocols.SetUnencryptedHTTP2(protocol == "h2c")
	g.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Request makes a request to the entrypoint.
func (g *Rig) Request(method, path string, body io.Reader, headers ...string) *http.Request {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), http1test.Timeout)
	g.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, g.scheme+"://"+g.Address+path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// Do sends a request and returns the response with its body. The error is that of either.
func (g *Rig) Do(protocol string, r *http.Request) (*http.Response, string, error) {
	g.t.Helper()
	response, err := g.Client(protocol).Do(r)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// Raw sends text on a new connection and returns what reads the answer.
func (g *Rig) Raw(text string) (net.Conn, *bufio.Reader) {
	g.t.Helper()
	conn, err := new(net.Dialer).DialContext(g.t.Context(), "tcp", g.Address)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(http1test.Timeout))
	if _, err := io.WriteString(conn, text); err != nil {
		g.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// Member returns the only member of the pool.
func (g *Rig) Member() *loadbalancer.Member {
	for member := range g.Pool.Snapshot().Members() {
		return member
	}
	return nil
}
