package forwarded

import (
	"errors"
	"io"
	"net/http"
)

// RemoveTrailers is [RemoveHeader] for the trailers of a request: those present, and those after its body. Servers may
// merge trailers into headers.
func RemoveTrailers(r *http.Request, names ...string) {
	if MayHaveTrailers(r) {
		EditTrailers(r, func(trailer http.Header) { RemoveHeader(trailer, names...) })
	}
}

// MayHaveTrailers reports whether a request has trailers, or a body that trailers may follow, announced or not (RFC
// 9110 section 6.5.1).
func MayHaveTrailers(r *http.Request) bool {
	return r.Trailer != nil || r.ProtoMajor == 1 && r.ContentLength < 0
}

// EditTrailers calls edit with the trailers of a request that [MayHaveTrailers], and again at the end of its body,
// which it replaces.
func EditTrailers(r *http.Request, edit func(trailer http.Header)) {
	edit(r.Trailer)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &trailing{ReadCloser: r.Body, request: r, edit: edit}
	}
}

type trailing struct {
	io.ReadCloser

	request *http.Request
	edit    func(trailer http.Header)
}

// Read calls edit at the end of the body.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.edit(t.request.Trailer)
	}
	return n, err
}
