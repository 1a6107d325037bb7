package listeners_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/entrypoint/listeners"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeout bounds every wait of a test.
const timeout = time.Minute

// rig is a compiler whose listeners are real, and services "a@internal", "b@internal" and "c@internal" that answer with
// their names.
type rig struct {
	t        *testing.T
	target   *router.ActiveTable
	compiler *router.Compiler
	sockets  *listeners.SocketSet
	builder  *dynamic.Builder
	changed  []dynamic.Ref
	ran      uint64
	records  records
	// static are the entrypoints of the static configuration, as templates.
	static map[string]*static.EntryPoint
}

// records are those of requests, in their order.
type records struct {
	mu  sync.Mutex
	all []telemetry.Record
}

func (r *records) Finished(record *telemetry.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, *record)
}

// named returns the services with which routers answer.
func named(names ...string) map[string]http.Handler {
	services := map[string]http.Handler{}
	for _, name := range names {
		services[name+"@internal"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, name)
		})
	}
	return services
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, static: map[string]*static.EntryPoint{}}
	for _, name := range []string{"", "edge", "closing"} {
		r.static[name] = &static.EntryPoint{}
		r.static[name].SetDefaults()
	}
	r.static["closing"].Transport.KeepAliveMaxRequests = 1
	entrypoints := []router.EntryPoint{{Name: "web", Default: true}}
	r.target = router.NewActiveTable(entrypoints)
	r.sockets = listeners.New(listeners.Options{Servers: r, Logger: telemetry.Discard{}})
	r.compiler = router.NewCompiler(router.Options{
		EntryPoints: entrypoints, Internal: named("a", "b", "c"), Sockets: r.sockets, Tickets: certificate.NewTickets(),
		Templates: map[string]router.EntryPoint{"": {}, "edge": {}, "closing": {}},
	}, r.target)
	r.builder = dynamic.NewBuilder(&dynamic.Configuration{TLS: &dynamic.TLSConfiguration{}})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.sockets.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		limit := time.NewTimer(timeout)
		defer limit.Stop()
		select {
		case <-ended:
		case <-limit.C:
			t.Error("the sockets are not closed")
		}
	})
	return r
}

// Server makes the server of an address.
func (r *rig) Server(socket router.Socket) (listeners.Server, error) {
	config := *r.static[socket.Template]
	config.Address = socket.HostPort + "/" + socket.Network
	if socket.Network == "udp" {
		server := datagram.NewServer(r.target.PacketsOf(socket.Address), datagram.Options{
			EntryPoint: socket.HostPort, Timeout: time.Minute, MaxSessions: 10,
		})
		return entrypoint.NewPackets(socket.HostPort, &config, server, nil)
	}
	hosts := r.target.VirtualHosts(socket.Address)
	return entrypoint.New(socket.HostPort, &config, hosts, hosts, entrypoint.Dependencies{
		Logger: telemetry.Discard{}, Sinks: []entrypoint.Sink{&r.records}, Streams: hosts,
	})
}

// put declares an object, or removes it where that is nil.
func (r *rig) put(kind dynamic.Kind, name string, object any) {
	ref := dynamic.Ref{Kind: kind, Name: name}
	if object == nil {
		r.builder.Delete(ref)
	} else {
		r.builder.Put(ref, object)
	}
	r.changed = append(r.changed, ref)
}

// listener declares a listener of the provider gw.
func (r *rig) listener(name, address string, protocol dynamic.ListenerProtocol, hostname string) {
	r.put(dynamic.KindListener, name+"@gw", &dynamic.Listener{Address: address, Protocol: protocol, Hostname: hostname})
}

// route declares a router of listeners, which a service answers.
func (r *rig) route(name, service string, on ...string) {
	r.put(dynamic.KindRouter, name+"@gw", &dynamic.Router{
		EntryPoints: on, Rule: "PathPrefix(`/`)", Service: service + "@internal",
	})
}

// apply makes what is declared serve, and returns the verdicts by object.
func (r *rig) apply() map[string]dynamic.Verdict {
	r.t.Helper()
	configuration := r.builder.Configuration()
	compiled := r.compiler.Compile(router.Input{Configuration: configuration, Changed: r.changed, Final: true})
	r.ran++
	compiled.Activate(r.ran)
	r.changed = nil
	found := map[string]dynamic.Verdict{}
	for _, verdict := range slices.Concat(compiled.Verdicts, r.sockets.Verdicts()) {
		if verdict.Ref.Kind != dynamic.KindTLSStore {
			found[string(verdict.Ref.Kind)+" "+verdict.Ref.Name] = verdict
		}
	}
	return found
}

// accepted is apply for a configuration without a fault.
func (r *rig) accepted() {
	r.t.Helper()
	for object, verdict := range r.apply() {
		r.t.Errorf("%s: %s", object, verdict.Reason)
	}
}

// freeAddress returns an address of a network that is free.
func freeAddress(t *testing.T, network string) string {
	t.Helper()
	if network == "udp" {
		conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return conn.LocalAddr().String()
	}
	return http1test.Reserve(t)
}

// client returns one that sends all requests to an address, with that server name; empty has none.
func client(t *testing.T, address, serverName string, http2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: serverName}, //nolint:gosec // of the test
		Protocols:       new(http.Protocols),
	}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetHTTP2(http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: timeout}
}

// get sends a request for a host, and returns the status and, of 200, the body.
func get(ctx context.Context, c *http.Client, url, host string) (status int, body string, state *tls.ConnectionState,
	err error,
) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", nil, err
	}
	request.Host = host
	response, err := c.Do(request)
	if err != nil {
		return 0, "", nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode == http.StatusOK {
		body = string(text)
	}
	return response.StatusCode, body, response.TLS, err
}

// want fails the test unless a host gets a status and an answer.
func want(t *testing.T, c *http.Client, url, host string, status int, body string) {
	t.Helper()
	gotStatus, gotBody, _, err := get(t.Context(), c, url, host)
	if err != nil || gotStatus != status || gotBody != body {
		t.Errorf("%s for %s: %d %q, %v; want %d %q", url, host, gotStatus, gotBody, err, status, body)
	}
}

// selfSigned returns a certificate for a name, as PEM.
func selfSigned(t *testing.T, name string) dynamic.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	template.Subject.CommonName = name
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var cert, pkcs8 bytes.Buffer
	if err := errors.Join(
		pem.Encode(&cert, &pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.Encode(&pkcs8, &pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	); err != nil {
		t.Fatal(err)
	}
	return dynamic.Certificate{CertFile: cert.String(), KeyFile: pkcs8.String()}
}
