package forward

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/canonical"
)

var errBodyClosed = errors.New("the request body is closed")

// requestBody is a client's request body on its way to an endpoint. It remembers why reading failed, so that a client's
// fault is not taken for the endpoint's, and brings the trailers over once the body has ended. Its methods, except
// failed and halt, are called by one goroutine at a time.
type requestBody struct {
	from *http.Request
	// now is the client's body where that tells what has come of it.
	now readyReader
	// trailer is what the transport sends after the body; nil when the client can't send any.
	trailer http.Header
	// reading says that a Read is under way, closed that none may follow.
	reading, closed atomic.Bool
	err             atomic.Pointer[error]
}

// readyReader is a body that can be read without waiting: 0 bytes without an error say that nothing has come.
type readyReader interface {
	ReadNow(p []byte) (n int, err error)
}

// readyBody is a requestBody that can be read without waiting.
type readyBody struct{ *requestBody }

// ReadNow reads what has come from the client.
func (b readyBody) ReadNow(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	n, err := b.now.ReadNow(p)
	b.note(err)
	return n, err
}

// outgoing returns what the transport reads.
func (b *requestBody) outgoing() io.ReadCloser {
	if b.now != nil {
		return readyBody{b}
	}
	return b
}

func newRequestBody(r *http.Request) *requestBody {
	body := &requestBody{from: r}
	body.now, _ = r.Body.(readyReader)
	// A chunked body may end with trailers that nothing announced (RFC 9110 section 6.5.1).
	if len(r.Trailer) > 0 || r.ProtoMajor == 1 && r.ContentLength < 0 {
		body.trailer = make(http.Header, len(r.Trailer))
		for name := range r.Trailer {
			if allowedTrailer(name) {
				body.trailer[name] = nil
			}
		}
	}
	return body
}

// Read reads from the client.
func (b *requestBody) Read(p []byte) (int, error) {
	b.reading.Store(true)
	defer b.reading.Store(false)
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	n, err := b.from.Body.Read(p)
	b.note(err)
	return n, err
}

func (b *requestBody) note(err error) {
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.takeTrailers()
	case b.closed.Load():
		// Reading was interrupted because nobody wants the rest: no fault of the client's.
	default:
		b.err.CompareAndSwap(nil, &err)
	}
}

// halt ends reading, and reports whether a Read is still under way.
func (b *requestBody) halt() (waiting bool) {
	b.closed.Store(true)
	return b.reading.Load()
}

// reopen takes a Close back, when nothing was read before it.
func (b *requestBody) reopen() { b.closed.Store(false) }

// Close ends reading. It leaves the client's body to the server, which knows whether to drain or to close the
// connection, and whose Close would wait for a slow client here.
func (b *requestBody) Close() error {
	b.closed.Store(true)
	return nil
}

func (b *requestBody) takeTrailers() {
	if b.trailer == nil {
		return
	}
	for name, values := range b.from.Trailer {
		if allowedTrailer(name) {
			b.trailer[name] = values
		}
	}
}

// failed returns why the client's body could not be read, or nil; b may be nil.
func (b *requestBody) failed() error {
	if b == nil {
		return nil
	}
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}

// allowedTrailer refuses what is no field, which the transport would blame on the endpoint, and fields that frame messages or that
// trust hangs on: endpoints merge trailers into headers.
func allowedTrailer(name string) bool {
	return httpguts.ValidHeaderFieldName(name) && httpguts.ValidTrailerHeader(name) && !canonical.IsManaged(name)
}
