package forwarded

import (
	"errors"
	"io"
	"net/http"
)

// RemoveTrailers does for the trailers of a request what [RemoveHeader] does for its head: for those that are there,
// and, in place of its body, for those that come behind it. Servers merge trailers into headers.
func RemoveTrailers(r *http.Request, names ...string) {
	if MayHaveTrailers(r) {
		EditTrailers(r, func(trailer http.Header) { RemoveHeader(trailer, names...) })
	}
}

// MayHaveTrailers reports whether a request has trailers, or a body behind which some may come, announced or not (RFC
// 9110 section 6.5.1).
func MayHaveTrailers(r *http.Request) bool {
	return r.Trailer != nil || r.ProtoMajor == 1 && r.ContentLength < 0
}

// EditTrailers calls edit with the trailers of a request that [MayHaveTrailers], and, in place of its body, again when
// that has ended.
func EditTrailers(r *http.Request, edit func(trailer http.Header)) {
	edit(r.Trailer)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &trailing{ReadCloser: r.Body, request: r, edit: edit}
	}
}

// trailing is the body of a request that may end with trailers.
type trailing struct {
	io.ReadCloser

	request *http.Request
	edit    func(trailer http.Header)
}

// Read reads, and edits the trailers when they have come.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.edit(t.request.Trailer)
	}
	return n, err
}
