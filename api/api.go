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
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/pipeline"
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

// Options says what the API answers from.
type Options struct {
	// State is needed.
	State State
	// Explainer and Lister answer /api/explain, /api/routes and /api/middlewares; where one is nil, its paths are not served.
	Explainer Explainer
	Lister    Lister
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
	write := writer(options.Logger)
	if options.Explainer != nil {
		get(root, prefix+"/explain", func(w http.ResponseWriter, r *http.Request) { explain(w, r, options.Explainer, write) })
	}
	if options.Lister != nil {
		get(root, prefix+"/routes", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, options.Lister.Routes()) })
		get(root, prefix+"/middlewares", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, options.Lister.Middlewares()) })
	}
	get(root, prefix+"/ready", func(w http.ResponseWriter, _ *http.Request) { ready(w, options.State, write) })
	root.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusNotFound, problem{Message: "there is nothing at " + r.URL.EscapedPath()})
	})
	root.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "GET, HEAD")
		write(w, http.StatusMethodNotAllowed, problem{Message: "the API is read-only"})
	})
	return root
}

func get(root *mux.Router, path string, handler http.HandlerFunc) {
	root.HandleFunc(path, handler).Methods(http.MethodGet, http.MethodHead)
}

// problem is the JSON of an error.
type problem struct {
	Message string `json:"message"`
}

// writer returns the function that writes a value as JSON.
func writer(logger telemetry.Logger) func(w http.ResponseWriter, status int, value any) {
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
		write(w, http.StatusBadRequest, problem{Message: "query: " + err.Error()})
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
		write(w, http.StatusBadRequest, problem{Message: "query: url is missing"})
		return
	}
	for _, line := range query["header"] {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			write(w, http.StatusBadRequest, problem{Message: "query: header is not of the form NAME: VALUE"})
			return
		}
		question.Header.Add(name, strings.TrimSpace(value))
	}
	answer, err := explainer.Explain(question)
	if err != nil {
		write(w, http.StatusBadRequest, problem{Message: err.Error()})
		return
	}
	write(w, http.StatusOK, answer)
}
