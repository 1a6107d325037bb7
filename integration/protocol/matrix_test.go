package protocol

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// The protocols of upstreams.
const (
	upstreamH1  = "h1"
	upstreamH2  = "h2"
	upstreamH2C = "h2c"
)

// world is one Sluice with one backend behind it and one client of each kind before it, shared by all behaviours.
type world struct {
	sluice    *harness.Sluice
	backend   *harness.Backend
	authority *harness.Authority
	cells     []cell
}

// cell is one combination.
type cell struct {
	*harness.Client

	world    *world
	upstream string
	wrapped  bool
	chained  bool
	// accept is the Accept-Encoding of calls of gRPC; empty sends none.
	accept string
	host   string
}

// name identifies the cell.
func (c cell) name() string {
	return fmt.Sprintf("%s to %s %s", c.Protocol, c.upstream, c.wrap())
}

// wrap is what is between the entrypoint and the service: nothing, one middleware that edits every response, or a chain
// of middlewares that do not affect these requests.
func (c cell) wrap() string {
	switch {
	case c.wrapped:
		return "wrapped"
	case c.chained:
		return "chained"
	}
	return "bare"
}

// settings trust the authority.
func (w *world) settings() *tls.Config { return &tls.Config{RootCAs: w.authority.Pool} }

// entrypoint returns the name of the one for a protocol.
func entrypoint(protocol harness.Protocol) string {
	switch {
	case protocol == harness.H3:
		return "quic"
	case protocol.Secure():
		return "websecure"
	}
	return "web"
}

// client returns a new client for another host of the same Sluice.
func (w *world) client(t *testing.T, protocol harness.Protocol, host string) *harness.Client {
	t.Helper()
	return harness.NewClient(t, protocol, w.sluice.Addr(entrypoint(protocol)), host, w.settings())
}

const static = `
entryPoints:
  web: {address: "127.0.0.1:0", http2: {extendedConnect: true}}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}, http2: {extendedConnect: true}}
  quic: {address: "127.0.0.1:0", http: {tls: {}}, http3: {extendedConnect: true}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`

// dynamic returns the dynamic configuration: one router for each upstream, bare, wrapped and chained, and those that
// fail.
func dynamic() string {
	var routers, services strings.Builder
	for _, upstream := range []string{upstreamH1, upstreamH2, upstreamH2C, "refused", "empty", "late"} {
		fmt.Fprintf(&routers, "    %s-bare: {rule: Host(`%s-bare.test`), service: %s}\n", upstream, upstream, upstream)
		fmt.Fprintf(&routers, "    %s-wrapped: {rule: Host(`%s-wrapped.test`), service: %s, middlewares: [wrap]}\n", upstream,
			upstream, upstream)
		fmt.Fprintf(&routers, "    %s-chained: {rule: Host(`%s-chained.test`), service: %s, middlewares: [everything]}\n",
			upstream, upstream, upstream)
	}
	for name, server := range map[string]string{
		upstreamH1:  "servers: [{url: 'http://${H1}'}]",
		upstreamH2:  "servers: [{url: 'https://${H2}'}], serversTransport: trusting",
		upstreamH2C: "servers: [{url: 'h2c://${H2C}'}]",
		"refused":   "servers: [{url: 'http://${REFUSED}'}]",
		"empty":     "servers: []",
		"late":      "servers: [{url: 'http://${H1}'}], serversTransport: impatient",
	} {
		fmt.Fprintf(&services, "    %s: {loadBalancer: {%s}}\n", name, server)
	}
	return "http:\n  routers:\n" + routers.String() + "  services:\n" + services.String() + `
  middlewares:
    wrap: {headers: {customResponseHeaders: {X-Wrapped: "yes"}}}
` + chain + `  serversTransports:
    trusting: {rootCAs: ["${CA}"]}
    impatient: {forwardingTimeouts: {responseHeaderTimeout: 100ms}}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
`
}

func newWorld(t *testing.T) *world {
	t.Helper()
	authority := harness.NewAuthority(t)
	backend := harness.StartBackend(t, "one", authority)
	front := authority.Issue("wildcard", "*.test")
	w := &world{authority: authority, backend: backend}
	w.sluice = harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": dynamic()},
		Vars: map[string]string{
			"H1": backend.H1, "H2": backend.H2, "H2C": backend.H2C, "REFUSED": harness.RefusedAddress(t),
			"CA": authority.File, "CERT": front.CertFile, "KEY": front.KeyFile,
		},
	})
	for _, protocol := range append(harness.Protocols(), harness.H3) {
		for _, upstream := range []string{upstreamH1, upstreamH2, upstreamH2C} {
			for _, c := range []cell{{}, {wrapped: true}, {chained: true}} {
				c.world, c.upstream = w, upstream
				c.host = upstream + "-" + c.wrap() + ".test"
				c.Client = w.client(t, protocol, c.host)
				w.cells = append(w.cells, c)
			}
		}
	}
	return w
}

// behaviour is something that is so in every cell in which the protocols have the feature.
type behaviour struct {
	name  string
	where func(cell) bool // nil is everywhere
	prove func(*testing.T, cell)
}

// TestMatrix proves every behaviour in every cell.
func TestMatrix(t *testing.T) {
	prove(t, newWorld(t), behaviours())
}

func prove(t *testing.T, w *world, all []behaviour) {
	t.Helper()
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			for _, c := range w.cells {
				if b.where != nil && !b.where(c) {
					continue
				}
				t.Run(c.name(), func(t *testing.T) {
					t.Parallel()
					c.Client = c.For(t)
					b.prove(t, c)
				})
			}
		})
	}
}

func behaviours() []behaviour {
	return []behaviour{
		{"requests arrive as they were sent", nil, proveRequest},
		{"responses arrive as they were sent", nil, proveResponse},
		{"bodies stream both ways at a time", nil, proveMirror},
		{"large bodies are not collected", nil, proveLarge},
		{"request trailers", nil, proveRequestTrailers},
		{"response trailers", nil, proveResponseTrailers},
		{"HEAD", nil, proveHead},
		{"statuses without a body", nil, proveBodyless},
		{"Expect continues", nil, proveContinue},
		{"Expect is refused", speaksHTTP1, proveRefused},
		{"informational responses", nil, proveEarly},
		{"events come at once", nil, proveEvents},
		{"unknown lengths come at once", nil, proveSlow},
		{"WebSocket", nil, proveWebSocket},
		{"gRPC unary", speaksGRPC, proveUnary},
		{"gRPC streams", speaksGRPC, proveStreams},
		{"gRPC status", speaksGRPC, proveStatus},
		{"a client that leaves", nil, proveGone},
		{"a client that leaves while it uploads", nil, proveGoneUploading},
		{"an answer before the request has ended", nil, proveEarlyAnswer},
		{"an upstream that breaks off", nil, proveCut},
		{"answers in the endpoint's place", func(c cell) bool { return c.upstream == upstreamH1 }, proveFailures},
	}
}

func speaksHTTP1(c cell) bool { return !c.Protocol.HTTP2() && c.Protocol != harness.H3 }

func speaksGRPC(c cell) bool { return c.Protocol.HTTP2() && c.upstream != upstreamH1 }
