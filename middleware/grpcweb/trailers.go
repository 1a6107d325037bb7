package grpcweb

import (
	"net/http"
	"strings"
)

// finish ends the answer with the frame of the trailers, and reports whether the call has a status. One that has none
// gets the status unknown, as a client would have it (github.com/grpc/grpc, doc/statuscodes.md), so that nobody takes a
// part of an answer for the whole.
func (a *reply) finish() (whole bool) {
	a.Begin(http.StatusOK)
	if !a.native {
		return true
	}
	trailer := a.trailers()
	whole = a.ended || len(trailer["Grpc-Status"]) > 0
	if !whole {
		trailer["Grpc-Status"], trailer["Grpc-Message"] = []string{"2"}, []string{"the server sent no status"}
	}
	if len(trailer) > 0 {
		// A client that has left is noticed by the server.
		_, _ = a.Write(trailerFrame(trailer))
	}
	if a.text {
		_ = a.encoder.pad(a.ResponseWriter, true)
	}
	return whole
}

// trailers takes the trailers out of the header, where the server would find and send them.
func (a *reply) trailers() http.Header {
	header, trailer := a.Header(), http.Header{}
	for name, values := range header {
		if late, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			late = http.CanonicalHeaderKey(late)
			trailer[late] = append(trailer[late], values...)
			delete(header, name)
		}
	}
	for _, name := range a.announced {
		if values := header[name]; len(values) > 0 {
			trailer[name] = values
			delete(header, name)
		}
	}
	return trailer
}
