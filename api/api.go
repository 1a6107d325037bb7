// Package api answers those who ask Sluice about itself: whether it lives, whether it is ready, what is configured and
// what became of it, and which route would answer a request.
//
// In flow the immutable state that the pipeline publishes, the static configuration, and what the router's table and
// the pools say through the interfaces that this package declares; out flow JSON and plain text, on the paths of
// Traefik's API and on ours. Configuration is shown in redacted copies alone. Everything is read-only: other methods
// than GET and HEAD get 405, and pages of other origins get nothing. The handlers are mounted by the router as the
// services ping@internal and api@internal; this package never listens and never changes anything.
package api

import (
	"crypto/x509"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// State says how everything stands; pipeline.Pipeline does.
type State interface {
	State() *pipeline.State
}

// Lister lists the routes that are served, and the middlewares that count or have state. What it returns is written as
// JSON.
type Lister interface {
	Routes() any
	Middlewares() any
}

// Servers says how the servers of services stand; cmd/sluice answers from the pools.
type Servers interface {
	// Servers returns UP or DOWN for each server of a service, by its URL. It is nil for a service without servers of its
	// own.
	Servers(service string) map[string]string
}

// Certificates lists the certificates that clients are shown.
type Certificates interface {
	// Certificates returns the leaves, in any order; none of them is changed.
	Certificates() []*x509.Certificate
}

// Version says which Sluice this is.
type Version struct {
	// Version and Codename are those of the release.
	Version  string
	Codename string
	// Start is when the process began.
	Start time.Time
}

// Part is a piece that is mounted beside the API's own paths, behind the same protection against other origins.
type Part interface {
	// Mount adds the part's routes below prefix, which is the option api.basePath without a slash at its end: a path of
	// the API is prefix + "/api/...". Get adds one.
	Mount(root *mux.Router, prefix string)
}

// Options says what the API answers from.
type Options struct {
	// State is needed.
	State State
	// Static is the configuration that Sluice was started with; nil means an empty one. It is never shown unredacted.
	Static *static.Configuration
	// Explainer and Lister answer /api/explain, /api/routes and /api/middlewares; where one is nil, its paths are not
	// served.
	Explainer Explainer
	Lister    Lister
	// Servers may be nil; services then have no serverStatus.
	Servers Servers
	// Certificates may be nil; /api/certificates is then empty.
	Certificates Certificates
	// Version is what /api/version tells.
	Version Version
	// Parts are mounted in order; a path that several have is answered by the first one, and by the API itself before any.
	Parts []Part
	// Logger hears about answers that could not be written as JSON; it is needed.
	Logger telemetry.Logger
	// BasePath is the option api.basePath: what precedes /api. Empty means /.
	BasePath string
}

// handler answers for the service api@internal.
type handler struct {
	options Options
	// prefix is what precedes /api, without a slash at its end.
	prefix string
	write  func(w http.ResponseWriter, status int, value any)
	// entryPoints are those of the static configuration, redacted.
	entryPoints []entryPoint
	// latest is the view of the state that was asked for last.
	latest atomic.Pointer[view]
}

// New returns the handler of the service api@internal: the paths of Traefik's API, those of Sluice, and the parts.
// docs/api.md lists them, and /api/openapi.yaml says what each one answers. It serves any number of requests at a time.
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
	h.mountQuestions(root)
	h.mountObjects(root)
	h.mountProcess(root)
	for _, part := range options.Parts {
		part.Mount(root, h.prefix)
	}
	root.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.write(w, http.StatusNotFound, Problem{Message: "there is nothing at " + r.URL.EscapedPath()})
	})
	root.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuseMethod(w, h.write)
	})
	return protect(h.prefix, h.write, root)
}

// mountQuestions adds what is asked of the table that serves.
func (h *handler) mountQuestions(root *mux.Router) {
	prefix := h.prefix + "/api"
	if explainer := h.options.Explainer; explainer != nil {
		Get(root, prefix+"/explain", func(w http.ResponseWriter, r *http.Request) { explain(w, r, explainer, h.write) })
	}
	if lister := h.options.Lister; lister != nil {
		Get(root, prefix+"/routes", func(w http.ResponseWriter, _ *http.Request) {
			h.write(w, http.StatusOK, lister.Routes())
		})
		Get(root, prefix+"/middlewares", func(w http.ResponseWriter, _ *http.Request) {
			h.write(w, http.StatusOK, lister.Middlewares())
		})
	}
	Get(root, prefix+"/ready", func(w http.ResponseWriter, _ *http.Request) { ready(w, h.options.State, h.write) })
	Get(root, prefix+"/verdicts", h.verdicts)
}

// mountProcess adds what is asked of the process.
func (h *handler) mountProcess(root *mux.Router) {
	prefix := h.prefix + "/api"
	Get(root, prefix+"/version", h.version)
	Get(root, prefix+"/overview", h.overview)
	Get(root, prefix+"/entrypoints", h.listEntryPoints)
	Get(root, prefix+"/entrypoints/{id}", h.showEntryPoint)
	Get(root, prefix+"/certificates", h.listCertificates)
	Get(root, prefix+"/certificates/{id}", h.showCertificate)
	Get(root, prefix+"/openapi.yaml", openAPI)
	if h.options.Static.API != nil && h.options.Static.API.Debug {
		mountDebug(root, h.prefix+"/debug")
	}
}

// Get mounts a handler for GET and HEAD at a path; other methods get 405.
func Get(root *mux.Router, path string, handler http.HandlerFunc) {
	root.HandleFunc(path, handler).Methods(http.MethodGet, http.MethodHead)
}
