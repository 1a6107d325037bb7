package grpcweb

import (
	"net/http"
	"strings"
)

// finish ends the response with the trailer frame, and reports whether the call has a status. A missing status becomes
// unknown, as in clients (github.com/grpc/grpc, doc/statuscodes.md), so that a truncated response is not taken for a
// complete one.
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
		// The server notices if the client has gone.
		_, _ = a.Write(trailerFrame(trailer))
	}
	if a.text {
		_ = a.encoder.pad(a.ResponseWriter, true)
	}
	return whole
}

// trailers removes the trailers from the header, where the server would send them.
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
