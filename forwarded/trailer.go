package forwarded

import (
	"errors"
	"io"
	"net/http"
)

// RemoveTrailers does for the trailers of a request what [RemoveHeader] does for its head: for those that are there,
// and, in place of its body, for those that come behind it, announced or not (RFC 9110 section 6.5.1). Servers merge
// trailers into headers.
func RemoveTrailers(r *http.Request, names ...string) {
	RemoveHeader(r.Trailer, names...)
	if (r.Trailer != nil || r.ProtoMajor == 1 && r.ContentLength < 0) && r.Body != nil && r.Body != http.NoBody {
		r.Body = &trailing{ReadCloser: r.Body, request: r, names: names}
	}
}

// trailing is the body of a request that may end with trailers.
type trailing struct {
	io.ReadCloser

	request *http.Request
	names   []string
}

// Read reads, and removes the trailers when they have come.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		RemoveHeader(t.request.Trailer, t.names...)
	}
	return n, err
}
