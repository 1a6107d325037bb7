// Package headers is the middleware headers: it sets and removes headers of requests and responses, answers for CORS
// (the Fetch standard, section 3.2), sends security headers, and refuses requests for other hosts than its own.
//
// What flows in: a request, and the response that the handlers behind it begin. What flows out: both with the
// configured headers, the answer to a preflight request, or a refusal. It never sees a body: responses stream, flush,
// switch protocols and end with trailers as without it.
package headers

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// Headers is one configured headers middleware.
type Headers struct {
	name     string
	warnings []string

	hosts   *hosts // nil allows every host
	cors    *cors  // nil leaves CORS to the service
	request []edit
	names   []string // of the edits in request
	host    string   // empty keeps the client's

	// plain and encrypted are the edits of responses to connections in clear and over TLS.
	plain, encrypted []edit
	tlsMarks         []mark
}

// New checks the definition, of which something must be set: names of headers are tokens that differ by more than
// case, values have no control characters, expressions compile, numbers are in range, and at least one of the allowed
// hosts is a host.
//
// An empty value of a custom header removes the header. A custom request header Host replaces the request's host and
// can't be removed; Content-Length and Transfer-Encoding belong to the message's framing and can't be set. What is
// set and has no effect is no error, but a warning, see [Headers.Warnings].
func New(name string, config dynamic.Headers) (*Headers, error) {
	if err := checkNumbers(config); err != nil {
		return nil, err
	}
	h := &Headers{name: name}
	for _, build := range []func(dynamic.Headers) error{h.buildRequest, h.buildResponse, h.buildCORS, h.buildHosts} {
		if err := build(config); err != nil {
			return nil, err
		}
	}
	h.warnings = append(h.warnings, inert(config)...)
	return h, nil
}

// Warnings returns one clause for each option that is set and has no effect, such as the deprecated ones.
func (h *Headers) Warnings() []string { return h.warnings }

// NoRetain says that no part of a request outlives its handler here.
func (*Headers) NoRetain() {}

// Wrap returns a handler that refuses a request for a host that is not allowed with 500, answers a preflight request
// with 200 where CORS is configured, and otherwise edits the request's headers and calls next with a writer that
// edits the response's headers when the final response begins, or the switch to another protocol, but no other
// informational response. Security headers are set first, then the custom ones, then those of CORS; each replaces
// what was there. A request header is removed together with its aliases before it is set, also from trailers, so that
// no client can forge it.
func (h *Headers) Wrap(next http.Handler) http.Handler {
	if h.hosts == nil && h.cors == nil && len(h.plain)+len(h.encrypted) == 0 {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.editRequest(r, nil)
			next.ServeHTTP(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, next) })
}

func (h *Headers) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if h.hosts != nil && !h.hosts.allow(r, h.isEncrypted(r)) {
		answer.Refuse(w, r, http.StatusInternalServerError, h.name, "headers.allowedHosts does not list the host")
		return
	}
	var granted grant
	if h.cors != nil {
		if h.cors.preflight(w, r) {
			return
		}
		// The origin is read before the request is edited: a service may well not be shown it.
		granted = h.cors.grant(soleOrigin(r.Header))
	}
	var e *exchange
	if granted.any || len(h.plain) > 0 {
		e = new(exchange)
		h.editRequest(r, e.values[:0:fewEdits])
	} else {
		h.editRequest(r, nil)
	}
	edits := h.plain
	if h.isEncrypted(r) {
		edits = h.encrypted
	}
	if !granted.any && len(edits) == 0 {
		next.ServeHTTP(w, r)
		return
	}
	if e == nil {
		e = new(exchange)
	}
	e.ResponseWriter, e.Editor, e.edits, e.cors, e.granted = w, e, edits, h.cors, granted
	next.ServeHTTP(e, r)
	e.Begin(http.StatusOK)
}

// editRequest edits the request's headers. It may use room for their values.
func (h *Headers) editRequest(r *http.Request, room []string) {
	if h.host != "" {
		r.Host = h.host
	}
	if len(h.request) == 0 {
		return
	}
	forwarded.RemoveHeader(r.Header, h.names...)
	apply(r.Header, h.request, room)
	forwarded.RemoveHeader(r.Trailer, h.names...)
	// A chunked body may end with trailers that nothing announced (RFC 9110 section 6.5.1).
	if (r.Trailer != nil || r.ProtoMajor == 1 && r.ContentLength < 0) && r.Body != nil && r.Body != http.NoBody {
		r.Body = &trailing{ReadCloser: r.Body, request: r, names: h.names}
	}
}
