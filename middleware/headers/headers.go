// Package headers implements the middleware headers: it sets and removes headers of requests and responses, answers
// CORS preflight requests (the Fetch standard, section 3.2), sends security headers, and refuses requests for other
// hosts. Bodies are not affected: responses stream, flush, switch protocols and end with trailers.
package headers

import (
	"net/http"

	"github.com/sluiceproxy/sluice/canonical"
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

	// plain and encrypted are the edits of responses over plain text and TLS.
	plain, encrypted []edit
	tlsMarks         []mark
}

// New checks the definition, of which something must be set: names of headers are tokens that differ by more than case,
// values have no control characters, expressions compile, numbers are in range, and at least one of the allowed hosts
// is a host.
//
// An empty value of a custom header removes the header. A custom request header Host replaces the request's host and
// can't be removed; Content-Length and Transfer-Encoding belong to the message's framing and can't be set. Options
// without effect are warnings, see [Headers.Warnings].
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

// Warnings returns one clause for each option without effect, such as deprecated ones.
func (h *Headers) Warnings() []string { return h.warnings }

// NoRetain implements httpio.NoRetainer.
func (*Headers) NoRetain() {}

// Wrap returns a handler that answers requests for disallowed hosts with 500 and preflight requests with 200 if CORS is
// configured. Otherwise it edits the request's headers and calls next with a writer that edits the headers of the final
// response, or of the switch to another protocol. Security headers are set first, then the custom ones, then those of
// CORS; each replaces existing ones. A request header is removed together with its aliases, also from trailers, before
// it is set, so that clients cannot forge it.
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
		// read before the request is edited, which may remove it
		granted = h.cors.grant(canonical.SoleOrigin(r.Header))
	}
	var writer *listWriter
	if granted.any || len(h.plain) > 0 {
		writer = new(listWriter)
		h.editRequest(r, writer.values[:0:fewEdits])
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
	if writer == nil {
		writer = new(listWriter)
	}
	writer.ResponseWriter, writer.Editor, writer.edits, writer.cors, writer.granted = w, writer, edits, h.cors, granted
	if _, ok := w.(fieldsWriter); ok && !granted.any {
		next.ServeHTTP(writer, r)
	} else {
		next.ServeHTTP(&writer.responseWriter, r)
	}
	writer.Begin(http.StatusOK)
}

// editRequest edits the request's headers. room is memory for values.
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
	// A chunked body may end with unannounced trailers (RFC 9110 section 6.5.1).
	if (r.Trailer != nil || r.ProtoMajor == 1 && r.ContentLength < 0) && r.Body != nil && r.Body != http.NoBody {
		r.Body = &trailing{ReadCloser: r.Body, request: r, names: h.names}
	}
}
