// Package api serves the management API: liveness, readiness, the configuration with its verdicts, and explanations of
// routing decisions.
//
// New returns the handler of the service api@internal, NewPing that of ping@internal; the router mounts both. The API
// reads the immutable pipeline.State, the static configuration, and routes and pools through functions of Options.
// It serves the paths of Traefik's API and Sluice's own as JSON, always from redacted copies. It is read-only:
// methods other than GET and HEAD get 405, pages of other origins get 403.
package api

import (
	"crypto/x509"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/ocsp"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// State returns the current state; it is implemented by pipeline.Pipeline.
type State interface {
	State() *pipeline.State
}

// Version identifies the running Sluice.
type Version struct {
	// Version and Codename are those of the release.
	Version  string
	Codename string
	// Start is the start time of the process.
	Start time.Time
}

// Part is a group of paths served beside the API's own, with the same cross-origin protection.
type Part interface {
	// Mount adds the part's routes below prefix, the option api.basePath without a slash at its end.
	Mount(root *mux.Router, prefix string)
}

// Options are the data sources and settings of the API.
type Options struct {
	// State is required.
	State State
	// Static is the configuration that Sluice was started with; nil means an empty one. Responses contain redacted values
	// only.
	Static *static.Configuration
	// Explain reports which router serves a request, and why, ExplainConnection the same for a TCP connection. Routes
	// lists the routes that are served, Middlewares the middlewares that have counters or state. The results are encoded
	// as JSON; the path of a nil one is not served.
	Explain           func(question router.Question) (any, error)
	ExplainConnection func(question router.ConnectionQuestion) (any, error)

	Routes      func() any
	Middlewares func() any
	// Servers returns UP or DOWN for each server of a service of a protocol (http, tcp, udp), by its URL, or its address
	// for TCP and UDP, and nil for a service without servers of its own. It may be nil; services then have no
	// serverStatus.
	Servers func(protocol, service string) map[string]string
	// Rates returns the current traffic of routers or services by name; it may be nil. The keys requests and errors of
	// sortBy then sort by name.
	Rates func(kind metrics.TrafficKind) map[string]metrics.TrafficRate
	// Connections lists the open connections; without it /api/connections is not served.
	Connections Connections
	// Certificates returns the leaf certificates that are presented to clients, in any order; they are not modified. It
	// may be nil; /api/certificates is then empty.
	Certificates func() []*x509.Certificate
	// Staple returns the state of the OCSP response of a certificate by the SHA-256 of its leaf in hexadecimal, and false
	// for one without responders. It may be nil, which means that no responses are stapled.
	Staple func(fingerprint string) (ocsp.Status, bool)
	// Resolvers returns the states of the certificate resolvers; it may be nil, which means none.
	Resolvers func() []acme.ResolverStatus
	// Overload returns the state of the overload manager; it may be nil, and nothing is shown without a pressure.
	Overload func() metrics.Overload
	// Version is returned by /api/version.
	Version Version
	// Parts are mounted in order. The first one that has a path serves it; the API's own paths take precedence.
	Parts []Part
	// Logger logs responses that could not be encoded as JSON. It is required.
	Logger telemetry.Logger
	// BasePath is the option api.basePath: what precedes /api. Empty means /.
	BasePath string
}

// handler serves api@internal.
type handler struct {
	options Options
	// prefix is what precedes /api, without a slash at its end.
	prefix string
	write  func(w http.ResponseWriter, status int, value any)
	// entryPoints are the redacted entrypoints of the static configuration.
	entryPoints []entryPoint
	// latest caches the view of the last requested state.
	latest atomic.Pointer[view]
}

// New returns the handler of the service api@internal: the paths of Traefik's API, those of Sluice, and the parts.
// docs/api.md lists them, /api/openapi.yaml defines the responses.
func New(options Options) http.Handler {
	if options.Static == nil {
		options.Static = &static.Configuration{}
	}
	h := &handler{
		options:     options,
		prefix:      strings.TrimRight(options.BasePath, "/"),
		write:       Writer(options.Logger),
		entryPoints: entryPoints(options.Static),
	}
	root := mux.NewRouter().UseEncodedPath()
	h.mountTable(root)
	h.mountObjects(root)
	h.mountProcess(root)
	for _, part := range options.Parts {
		part.Mount(root, h.prefix)
	}
	root.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.write(w, http.StatusNotFound, Problem{Message: "not found: " + r.URL.EscapedPath()})
	})
	root.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuseMethod(w, h.write)
	})
	return protect(h.prefix, h.write, root)
}

// mountTable adds the paths that read the active table.
func (h *handler) mountTable(root *mux.Router) {
	prefix := h.prefix + "/api"
	if h.options.Explain != nil {
		Get(root, prefix+"/explain", h.explain)
	}
	if h.options.ExplainConnection != nil {
		Get(root, prefix+"/explain/tcp", h.explainConnection)
	}
	for path, list := range map[string]func() any{"/routes": h.options.Routes, "/middlewares": h.options.Middlewares} {
		if list != nil {
			Get(root, prefix+path, func(w http.ResponseWriter, _ *http.Request) { h.write(w, http.StatusOK, list()) })
		}
	}
	Get(root, prefix+"/ready", func(w http.ResponseWriter, _ *http.Request) { ready(w, h.options.State, h.write) })
	Get(root, prefix+"/verdicts", h.verdicts)
}

// mountProcess adds the paths that describe the process.
func (h *handler) mountProcess(root *mux.Router) {
	prefix := h.prefix + "/api"
	Get(root, prefix+"/version", h.version)
	Get(root, prefix+"/overview", h.overview)
	Get(root, prefix+"/entrypoints", h.listEntryPoints)
	Get(root, prefix+"/entrypoints/{id}", h.showEntryPoint)
	Get(root, prefix+"/certificates", h.listCertificates)
	Get(root, prefix+"/certificates/{id}", h.showCertificate)
	if h.options.Connections != nil {
		Get(root, prefix+"/connections", h.connections)
	}
	Get(root, prefix+"/openapi.yaml", openAPI)
	if h.options.Static.API != nil && h.options.Static.API.Debug {
		mountDebug(root, h.prefix+"/debug")
	}
}

// Get mounts a handler for GET and HEAD at a path; other methods get 405.
func Get(root *mux.Router, path string, handler http.HandlerFunc) {
	root.HandleFunc(path, handler).Methods(http.MethodGet, http.MethodHead)
}
