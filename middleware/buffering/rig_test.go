package buffering

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

	ptypes "github.com/traefik/paerser/types"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test.
const patience = 20 * time.Second

// rig is an entrypoint, the middleware, and a service with one endpoint.
type rig struct {
	t       *testing.T
	address string
	records chan telemetry.Record
	pool    *loadbalancer.Pool
}

// Finished keeps a record.
func (g *rig) Finished(record *telemetry.Record) { g.records <- *record }

// setup says what a rig is made of.
type setup struct {
	wrap func(http.Handler) http.Handler
	// upstream is h1 or h2c.
	upstream string
	endpoint http.HandlerFunc
	// server takes the endpoint's place.
	server string
	change func(*static.EntryPoint)
	// patience is how long the service has to begin its response; 0 is no limit.
	patience time.Duration
}

// matrix runs a test on every pair of protocols.
func matrix(t *testing.T, test func(t *testing.T, client, upstream string)) {
	t.Helper()
	for _, client := range []string{"h1", "h2c"} {
		for _, upstream := range []string{"h1", "h2c"} {
			t.Run(client+"-"+upstream, func(t *testing.T) { test(t, client, upstream) })
		}
	}
}

func newRig(t *testing.T, s setup) *rig {
	t.Helper()
	g := &rig{t: t, records: make(chan telemetry.Record, 1000)}
	if s.server == "" {
		server := httptest.NewUnstartedServer(s.endpoint)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		t.Cleanup(server.Close)
		s.server = server.URL
		if s.upstream == "h2c" {
			s.server = strings.Replace(s.server, "http:", "h2c:", 1)
		}
	}
	transport, err := forward.NewTransport("test@file", &dynamic.ServersTransport{
		ForwardingTimeouts: &dynamic.ForwardingTimeouts{ResponseHeaderTimeout: ptypes.Duration(s.patience)},
	})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := loadbalancer.NewServerSpec(dynamic.Server{URL: s.server})
	if err != nil {
		t.Fatal(err)
	}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	g.pool = registry.NewPool("svc@file")
	registry.Configure(g.pool, loadbalancer.PoolSpec{Name: "svc@file", Dialer: transport, Servers: []loadbalancer.ServerSpec{spec}})
	t.Cleanup(func() { registry.Release("svc@file") })
	g.listen(s.wrap(forward.NewService(g.pool, forward.Options{Service: "svc@file", FlushInterval: -1})), s.change)
	return g
}

func (g *rig) listen(handler http.Handler, change func(*static.EntryPoint)) {
	g.t.Helper()
	config := new(static.EntryPoint)
	config.SetDefaults()
	config.Address = "127.0.0.1:0"
	if change != nil {
		change(config)
	}
	e, err := entrypoint.New("web", config, handler, nil, entrypoint.Dependencies{Logger: telemetry.Discard{}, Sinks: []entrypoint.Sink{g}})
	if err != nil {
		g.t.Fatal(err)
	}
	if err := e.Listen(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	g.address = e.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(g.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- e.Serve(ctx) }()
	g.t.Cleanup(func() {
		stop()
		if err := receive(g.t, ended, "the end of Serve"); err != nil {
			g.t.Error(err)
		}
	})
}

// receive takes from a channel what a test waits for.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// record returns the next finished record.
func (g *rig) record() telemetry.Record {
	g.t.Helper()
	return receive(g.t, g.records, "a record")
}

// client returns a client that speaks a protocol.
func (g *rig) client(protocol string) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), ExpectContinueTimeout: patience}
	transport.Protocols.SetHTTP1(protocol == "h1")
	transport.Protocols.SetUnencryptedHTTP2(protocol == "h2c")
	g.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// request makes a request to the entrypoint.
func (g *rig) request(method, path string, body io.Reader, headers ...string) *http.Request {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	g.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, "http://"+g.address+path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do sends a request and returns the response with its body. The error is that of either.
func (g *rig) do(protocol string, r *http.Request) (*http.Response, string, error) {
	g.t.Helper()
	response, err := g.client(protocol).Do(r)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// raw sends text on a new connection and returns what reads the answer.
func (g *rig) raw(text string) (net.Conn, *bufio.Reader) {
	g.t.Helper()
	conn, err := new(net.Dialer).DialContext(g.t.Context(), "tcp", g.address)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		g.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// onlyReader hides how long a body is.
type onlyReader struct{ io.Reader }
