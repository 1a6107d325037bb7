// Package admin serves the administration: endpoints that are drained by hand, connections that are closed, and levels
// of the log.
//
// New returns the handler of the service admin@internal, which exists with api.admin. It is apart from the read-only
// API of package api, so that reading can be permitted without it. What it changes is behind interfaces of its own;
// nothing is kept over a restart of the process.
package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are what the administration changes, and its settings.
type Options struct {
	// Endpoints drains endpoints. It is required.
	Endpoints Drainer
	// Levels sets the levels of the log. It is required.
	Levels Levels
	// Connections closes connections. It is required.
	Connections Connections
	// Logger gets failures to answer. It is required.
	Logger telemetry.Logger
	// Audit gets a line for each change, with who made it; none of its lines may be left out. It is required.
	Audit telemetry.Logger
	// BasePath is the option api.basePath: what precedes /api. Empty means /.
	BasePath string
}

// handler serves admin@internal.
type handler struct {
	options Options
	write   func(w http.ResponseWriter, status int, value any)
}

// New returns the handler of the service admin@internal. docs/api.md lists its paths, and /api/openapi.yaml defines
// requests and responses. Errors are api.Problem: 400 for a request that is wrong, 404 for an object that does not
// exist, 409 for a change that needs force.
func New(options Options) http.Handler {
	h := &handler{options: options, write: api.Writer(options.Logger)}
	root := mux.NewRouter()
	h.mount(root, strings.TrimRight(options.BasePath, "/")+"/api/admin")
	root.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.refuse(w, http.StatusNotFound, errors.New("not found: "+r.URL.EscapedPath()))
	})
	root.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed(root, r), ", "))
		h.refuse(w, http.StatusMethodNotAllowed, fmt.Errorf("%s does not take %s", r.URL.EscapedPath(), r.Method))
	})
	return api.ProtectChanges(options.Logger, root)
}

// mount adds the paths below a prefix.
func (h *handler) mount(root *mux.Router, prefix string) {
	api.Get(root, prefix+"/drains", h.listDrains)
	root.HandleFunc(prefix+"/drains", h.drain).Methods(http.MethodPost)
	root.HandleFunc(prefix+"/drains", h.undrain).Methods(http.MethodDelete)
	root.HandleFunc(prefix+"/connections/close", h.closeConnections).Methods(http.MethodPost)
	api.Get(root, prefix+"/log", h.listLevels)
	root.HandleFunc(prefix+"/log", h.setLevel).Methods(http.MethodPut)
}

// allowed returns the methods of the path of a request.
func allowed(root *mux.Router, r *http.Request) (methods []string) {
	for _, method := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete,
	} {
		tried := *r
		tried.Method = method
		if match := (mux.RouteMatch{}); root.Match(&tried, &match) && match.MatchErr == nil {
			methods = append(methods, method)
		}
	}
	return methods
}

// refuse answers with an error.
func (h *handler) refuse(w http.ResponseWriter, status int, err error) {
	h.write(w, status, api.Problem{Message: err.Error()})
}

// read decodes the body, one JSON object without unknown fields, or answers with an error.
func (h *handler) read(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, err = decoder.Token(); errors.Is(err, io.EOF) {
			return true
		}
		err = cmp.Or(err, errors.New("there is more behind the object"))
	}
	status := http.StatusBadRequest
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		status = http.StatusRequestEntityTooLarge
	}
	h.refuse(w, status, fmt.Errorf("body: %w", err))
	return false
}

// lasting reads a duration such as 10m, which is above 0; empty is 0, which is no limit.
func lasting(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	lasting, err := time.ParseDuration(text)
	if err != nil || lasting <= 0 {
		return 0, fmt.Errorf("for: %q is not a duration above 0 such as 10m", text)
	}
	return lasting, nil
}

// log writes a change to the log, with who made it: the name of the user or of the client certificate that was
// verified, and the address.
func (h *handler) log(r *http.Request, message string, fields ...any) {
	record := telemetry.RecordFrom(r.Context())
	switch {
	case record.Authenticated && record.Username != "":
		fields = append(fields, "by", record.Username)
	case r.TLS != nil && len(r.TLS.VerifiedChains) > 0:
		fields = append(fields, "by", r.TLS.PeerCertificates[0].Subject.String())
	}
	h.options.Audit.Info(message, append(fields, "client", record.Client)...)
}
