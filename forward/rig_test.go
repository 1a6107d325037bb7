package forward_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// eventTimeout is how long a test waits for what must happen.
const eventTimeout = time.Minute

// rig is a client, a proxy of one service, and one endpoint.
type rig struct {
	client   *http.Client
	url      string
	address  string
	registry *loadbalancer.Registry
	pool     *loadbalancer.Pool
	records  chan telemetry.Record
}

// setup is what a rig is made of; the zero value speaks HTTP/1.1 on both sides.
type setup struct {
	front     string // h1, h2 or h2c
	upstream  string // h1, h2 or h2c
	options   forward.Options
	transport *dynamic.ServersTransport
	identity  forward.Identity
	server    dynamic.Server
	// more are further servers of the pool, policies what it does with them.
	more     []dynamic.Server
	policies loadbalancer.Policies
	// dial makes the connections to endpoints in place of a net.Dialer.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// dead is how many servers are added that refuse connections.
	dead int
	// state gets the states of the connections to the endpoint.
	state func(net.Conn, http.ConnState)
	// records takes what is recorded in place of the rig's own channel.
	records chan telemetry.Record
	// around is put around the service.
	around func(http.Handler) http.Handler
}

// matrix runs a test on every pair of protocols.
func matrix(t *testing.T, test func(t *testing.T, s setup)) {
	t.Helper()
	for _, front := range []string{"h1", "h2", "h2c"} {
		for _, upstream := range []string{"h1", "h2", "h2c"} {
			t.Run(front+"-"+upstream, func(t *testing.T) {
				test(t, setup{front: front, upstream: upstream, options: forward.Options{PassHostHeader: true, FlushInterval: -1}})
			})
		}
	}
}

// newRig starts an endpoint with the handler and a proxy in front of it.
func newRig(t *testing.T, s setup, endpoint http.Handler) *rig {
	t.Helper()
	server := listen(t, s.upstream, endpoint, s.state)
	if s.transport == nil {
		s.transport = &dynamic.ServersTransport{}
	}
	if s.upstream == "h2" && s.transport.RootCAs == nil && !s.transport.InsecureSkipVerify {
		s.transport.RootCAs = []string{pemOf(server.Certificate())}
	}
	s.server.URL = map[string]string{"": "http", "h1": "http", "h2": "https", "h2c": "h2c"}[s.upstream] +
		strings.TrimPrefix(strings.TrimPrefix(server.URL, "https"), "http") + s.server.URL
	return newProxy(t, s)
}

// newProxy starts a proxy for the server of the setup.
func newProxy(t *testing.T, s setup) *rig {
	t.Helper()
	if s.transport == nil {
		s.transport = &dynamic.ServersTransport{}
	}
	transport, err := forward.NewTransport("test@file", s.transport, s.identity)
	if err != nil {
		t.Fatal(err)
	}
	if s.dial != nil {
		transport.DialWith(s.dial)
	}
	pool := loadbalancer.PoolSpec{Name: "svc@file", Dialer: transport, Policies: s.policies}
	for _, server := range append([]dynamic.Server{s.server}, s.more...) {
		spec, err := loadbalancer.NewServerSpec(server)
		if err != nil {
			t.Fatal(err)
		}
		pool.Servers = append(pool.Servers, spec)
	}
	g := &rig{registry: loadbalancer.NewRegistry(loadbalancer.Options{}), records: make(chan telemetry.Record, 100)}
	if s.records != nil {
		g.records = s.records
	}
	g.pool = g.registry.NewPool(pool.Name)
	g.registry.Configure(g.pool, pool)
	s.options.Service = "svc@file"
	var service http.Handler = forward.NewService(g.pool, s.options)
	if s.around != nil {
		service = s.around(service)
	}
	t.Cleanup(func() { g.registry.Release("svc@file") })
	if s.front == "" || s.front == "h1" {
		g.address = http1test.Serve(t, &server.Server{Handler: g.recorded(service)}, nil).Address
		g.url, g.client = "http://"+g.address, clientOf(t, s.front, nil)
		return g
	}
	front := listen(t, s.front, g.recorded(service), nil)
	g.url, g.address, g.client = front.URL, front.Listener.Addr().String(), clientOf(t, s.front, front)
	return g
}

// recorded gives each request a record and keeps it when the handler has returned.
func (g *rig) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := &telemetry.Record{}
		if r.Trailer == nil {
			// The server adds what comes to this map, and the copy below shares it.
			r.Trailer = http.Header{}
		}
		defer func() { g.records <- *record }()
		next.ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
	})
}

// record returns the record of the next request that is done.
func (g *rig) record(t *testing.T) telemetry.Record {
	t.Helper()
	select {
	case record := <-g.records:
		return record
	case <-time.After(eventTimeout): //nolint:forbidigo // the bound of a wait for an event
		t.Fatal("no request has ended")
		return telemetry.Record{}
	}
}

func listen(t *testing.T, protocol string, handler http.Handler,
	state func(net.Conn, http.ConnState),
) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = silent()
	server.Config.ConnState = state
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	server.Config.DisableGeneralOptionsHandler = true
	switch protocol {
	case "h2":
		server.EnableHTTP2 = true
		server.StartTLS()
	case "h2c":
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
	default:
		server.Listener = lingeringListener{server.Listener}
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// connKey is the key of the connection that a request of an endpoint came over.
type connKey struct{}

// lingeringListener accepts connections that are read for a moment after their end when a Read was broken off, as those
// of an entrypoint are: net/http forgets the rest of a body then, and an answer would be lost to a reset (RFC 9112
// section 9.6).
type lingeringListener struct{ net.Listener }

func (l lingeringListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{TCPConn: conn.(*net.TCPConn)}, nil
}

type lingeringConn struct {
	*net.TCPConn
	broken atomic.Bool
}

func (c *lingeringConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		c.broken.Store(true)
	}
	return n, err
}

func (c *lingeringConn) Close() error {
	if c.broken.Load() && c.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		_, _ = io.Copy(io.Discard, c.TCPConn)
	}
	return c.TCPConn.Close()
}

func silent() *log.Logger { return log.New(io.Discard, "", 0) }

func clientOf(t *testing.T, protocol string, server *httptest.Server) *http.Client {
	t.Helper()
	wire := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols), ExpectContinueTimeout: eventTimeout}
	switch protocol {
	case "h2":
		pool := x509.NewCertPool()
		pool.AddCert(server.Certificate())
		wire.TLSClientConfig = &tls.Config{RootCAs: pool}
		wire.Protocols.SetHTTP2(true)
	case "h2c":
		wire.Protocols.SetUnencryptedHTTP2(true)
	default:
		wire.Protocols.SetHTTP1(true)
	}
	t.Cleanup(wire.CloseIdleConnections)
	return &http.Client{Transport: wire, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func pemOf(certificate *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

// do sends a request and returns the response with its body.
func (g *rig) do(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := g.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // a test's
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func (g *rig) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	return g.do(t, request(t, http.MethodGet, g.url+path, nil))
}

func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*eventTimeout)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// scripted starts an endpoint that answers each connection with the script, after it has read one request's head.
func scripted(t *testing.T, script func(conn net.Conn, head *http.Request)) dynamic.Server {
	t.Helper()
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		if head, err := http.ReadRequest(conn.R); err == nil {
			script(conn.Conn, head)
		}
	})
	return dynamic.Server{URL: "http://" + endpoint.Address()}
}

// says returns a script that writes text.
func says(text string) func(net.Conn, *http.Request) {
	return func(conn net.Conn, _ *http.Request) { _, _ = io.WriteString(conn, text) }
}

// raw writes a request as it is and returns a reader of what comes back.
func (g *rig) raw(t *testing.T, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wait waits for a channel to be closed or to give something.
func wait[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(eventTimeout): //nolint:forbidigo // the bound of a wait for an event
		t.Fatal("waited in vain for " + what)
		panic(errors.ErrUnsupported)
	}
}

func addressOf(t *testing.T, server dynamic.Server) netip.AddrPort {
	t.Helper()
	spec, err := loadbalancer.NewServerSpec(server)
	if err != nil {
		t.Fatal(err)
	}
	return spec.Address
}

// memberOf returns the first member of a pool.
func memberOf(pool *loadbalancer.Pool) *loadbalancer.Member {
	for member := range pool.Snapshot().Members() {
		return member
	}
	return nil
}
