// Package headers is the middleware headers: it sets and removes headers of requests and responses.
//
// What flows in: a request, and the response that the handlers behind it begin. What flows out: both with the configured headers.
// It never sees a body: responses stream, flush, switch protocols and end with trailers as without it.
package headers

import (
	"net/http"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

// Headers is one configured headers middleware.
type Headers struct {
	request  []edit
	names    []string // of the edits in request
	response []edit
	host     string // empty keeps the client's
}

// edit sets a header, or removes it when the value is empty.
type edit struct {
	name  string // in net/http's canonical spelling
	value string
}

// New checks the definition: at least one header, names that are tokens and differ by more than case, values without control bytes.
// An empty value removes the header. A request header Host replaces the request's host and can't be removed; Content-Length and
// Transfer-Encoding belong to the message's framing and can't be set. Options that [Unsupported] names must not be set.
func New(_ string, config dynamic.Headers) (*Headers, error) {
	if err := checkSupported(config); err != nil {
		return nil, err
	}
	h := new(Headers)
	var err error
	if h.request, err = edits("headers.customRequestHeaders", config.CustomRequestHeaders); err != nil {
		return nil, err
	}
	if h.response, err = edits("headers.customResponseHeaders", config.CustomResponseHeaders); err != nil {
		return nil, err
	}
	if err := h.takeHost(); err != nil {
		return nil, err
	}
	for _, edit := range h.request {
		h.names = append(h.names, edit.name)
	}
	return h, nil
}

// KeepsNothing says that no part of a request outlives its handler here.
func (*Headers) KeepsNothing() {}

// Wrap returns a handler that edits the request's headers and calls next with a writer that edits the response's headers when the final
// response begins, or the switch to another protocol, but no other informational response. A header is removed together with its
// aliases before it is set, so that no client can forge it.
func (h *Headers) Wrap(next http.Handler) http.Handler {
	if len(h.response) == 0 {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.editRequest(r, nil)
			next.ServeHTTP(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{edits: h.response}
		e.ResponseWriter, e.Editor = w, e
		h.editRequest(r, e.values[:0:fewEdits])
		next.ServeHTTP(e, r)
		e.Begin(http.StatusOK)
	})
}

// editRequest edits the request's headers. It may use room for their values.
func (h *Headers) editRequest(r *http.Request, room []string) {
	if h.host != "" {
		r.Host = h.host
	}
	if len(h.request) == 0 {
		return
	}
	canonical.RemoveHeader(r.Header, h.names...)
	apply(r.Header, h.request, room)
}

// apply makes the edits. One array holds all values, fresh for each message: handlers behind may edit them in place. It is that of room
// where they have a place there.
func apply(headers http.Header, edits []edit, room []string) {
	var values []string
	if len(edits) <= cap(room) {
		values = room[:len(edits)]
	}
	for i, edit := range edits {
		switch {
		case edit.value != "":
			if values == nil {
				values = make([]string, len(edits))
			}
			values[i] = edit.value
			headers[edit.name] = values[i : i+1 : i+1]
		case edit.name == canonical.XForwardedFor:
			// A nil value tells forwarding that it must not append the client either.
			headers[edit.name] = nil
		default:
			delete(headers, edit.name)
		}
	}
}
