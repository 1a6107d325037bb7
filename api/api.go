// Package api answers those who ask Sluice about itself: whether it lives, whether it is ready, which routes there are,
// and which of them would answer a request.
//
// In flow the immutable state that the pipeline publishes, and what the router's table says through the interfaces that
// this package declares; out flow JSON and plain text. Everything is read-only: other methods than GET and HEAD get 405.
// The handlers are mounted by the router as the services ping@internal and api@internal; this package never listens and
// never changes anything.
package api

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
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

// ExplainRequest is a request that somebody wants to have explained; it is never sent.
type ExplainRequest struct {
	// Method is the method; empty means GET.
	Method string
	// URL is scheme://host/path?query.
	URL string
	// Header holds the headers that the request would carry.
	Header http.Header
	// EntryPoint is the name of the entrypoint; empty means the one that the URL leads to.
	EntryPoint string
	// Client is the client's address; empty means 127.0.0.1.
	Client string
}

// Explainer says which router answers a request, and why.
type Explainer interface {
	// Explain returns what is written as JSON; an error says what is wrong with the question.
	Explain(request ExplainRequest) (any, error)
}

// Lister lists the routes that are served, and the middlewares that count or have state. What it returns is written as JSON.
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
	// Mount adds the part's routes below prefix, which is the option api.basePath without a slash at its end: a path of the
	// API is prefix + "/api/...". Get adds one.
	Mount(root *mux.Router, prefix string)
}

// Options says what the API answers from.
type Options struct {
	// State is needed.
	State State
	// Static is the configuration that Sluice was started with; nil means an empty one. It is never shown unredacted.
	Static *static.Configuration
	// Explainer and Lister answer /api/explain, /api/routes and /api/middlewares; where one is nil, its paths are not served.
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

// New returns the handler of the service api@internal:
//
//	GET /api/explain?method=&url=&entrypoint=&client=&header=NAME:VALUE (header may repeat)
//	GET /api/routes
//	GET /api/middlewares
//	GET /api/ready
func New(options Options) http.Handler {
	root := mux.NewRouter().UseEncodedPath()
	prefix := strings.TrimRight(options.BasePath, "/") + "/api"
	write := Writer(options.Logger)
	if options.Explainer != nil {
		Get(root, prefix+"/explain", func(w http.ResponseWriter, r *http.Request) { explain(w, r, options.Explainer, write) })
	}
	if options.Lister != nil {
		Get(root, prefix+"/routes", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, options.Lister.Routes()) })
		Get(root, prefix+"/middlewares", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, options.Lister.Middlewares()) })
	}
	Get(root, prefix+"/ready", func(w http.ResponseWriter, _ *http.Request) { ready(w, options.State, write) })
	for _, part := range options.Parts {
		part.Mount(root, strings.TrimRight(options.BasePath, "/"))
	}
	root.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusNotFound, Problem{Message: "there is nothing at " + r.URL.EscapedPath()})
	})
	root.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "GET, HEAD")
		write(w, http.StatusMethodNotAllowed, Problem{Message: "the API is read-only"})
	})
	return root
}

// Get mounts a handler for GET and HEAD at a path; other methods get 405.
func Get(root *mux.Router, path string, handler http.HandlerFunc) {
	root.HandleFunc(path, handler).Methods(http.MethodGet, http.MethodHead)
}

// Problem is the JSON of an error.
type Problem struct {
	// Message is one sentence for a person.
	Message string `json:"message"`
}

// Writer returns the function that writes a value as JSON. What cannot be written is told to the logger and answered
// with 500.
func Writer(logger telemetry.Logger) func(w http.ResponseWriter, status int, value any) {
	return func(w http.ResponseWriter, status int, value any) {
		var body bytes.Buffer
		encoder := json.NewEncoder(&body)
		encoder.SetEscapeHTML(false) // rules and reasons are full of &&
		if err := encoder.Encode(value); err != nil {
			logger.Error("answer cannot be written as JSON", "error", err)
			body.Reset()
			body.WriteString(`{"message":"the answer cannot be written as JSON"}` + "\n")
			status = http.StatusInternalServerError
		}
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		_, _ = w.Write(body.Bytes()) // a client that has left is not our concern
	}
}

// explain reads the question from the query.
func explain(w http.ResponseWriter, r *http.Request, explainer Explainer, write func(http.ResponseWriter, int, any)) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		write(w, http.StatusBadRequest, Problem{Message: "query: " + err.Error()})
		return
	}
	question := ExplainRequest{
		Method:     query.Get("method"),
		URL:        query.Get("url"),
		Header:     http.Header{},
		EntryPoint: query.Get("entrypoint"),
		Client:     query.Get("client"),
	}
	if question.Method == "" {
		question.Method = http.MethodGet
	}
	if question.URL == "" {
		write(w, http.StatusBadRequest, Problem{Message: "query: url is missing"})
		return
	}
	for _, line := range query["header"] {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			write(w, http.StatusBadRequest, Problem{Message: "query: header is not of the form NAME: VALUE"})
			return
		}
		question.Header.Add(name, strings.TrimSpace(value))
	}
	answer, err := explainer.Explain(question)
	if err != nil {
		write(w, http.StatusBadRequest, Problem{Message: err.Error()})
		return
	}
	write(w, http.StatusOK, answer)
}
