package forward

import (
	"errors"
	"io"
	"net/http"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio/replay"
)

// requestBody is a client's request body on its way to an endpoint, in one attempt. Trailers are copied once the body
// has ended. Its methods, except halt, are called by one goroutine at a time.
type requestBody struct {
	reader replay.Reader
	source *http.Request
	// trailer is what the transport sends after the body; nil when the client can't send any.
	trailer http.Header
}

// readyBody is a requestBody that can be read without waiting.
type readyBody struct{ *requestBody }

// ReadNow reads what has come from the client.
func (b readyBody) ReadNow(p []byte) (int, error) {
	n, err := b.reader.ReadNow(p)
	return n, b.ended(err)
}

// newRequestBody returns the body for a first attempt, and what replays it for others.
func newRequestBody(r *http.Request, limit int64, memory *replay.Memory) (*requestBody, *replay.Body) {
	first := new(struct {
		body   requestBody
		replay replay.Body
	})
	first.replay.Init(r.Body, r.ContentLength, limit, memory)
	first.body.open(r, &first.replay)
	return &first.body, &first.replay
}

// open starts at the beginning of the body.
func (b *requestBody) open(r *http.Request, body *replay.Body) {
	b.source = r
	body.Open(&b.reader)
	// A chunked body may end with trailers that nothing announced (RFC 9110 section 6.5.1).
	if len(r.Trailer) > 0 || r.ProtoMajor == 1 && r.ContentLength < 0 {
		b.trailer = make(http.Header, len(r.Trailer))
		for name := range r.Trailer {
			if allowedTrailer(name) {
				b.trailer[name] = nil
			}
		}
	}
}

// outgoing returns what the transport reads.
func (b *requestBody) outgoing(body *replay.Body) io.ReadCloser {
	if body.Ready() {
		return readyBody{b}
	}
	return b
}

// Read reads from the client, or what was read from it for an earlier attempt.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.reader.Read(p)
	return n, b.ended(err)
}

// ended copies the trailers at the end of the body.
func (b *requestBody) ended(err error) error {
	if b.trailer == nil || !errors.Is(err, io.EOF) {
		return err
	}
	for name, values := range b.source.Trailer {
		if allowedTrailer(name) {
			b.trailer[name] = values
		}
	}
	return err
}

// halt ends reading, and reports whether a Read is still under way.
func (b *requestBody) halt() (waiting bool) { return b.reader.Halt() }

// Close ends reading. It leaves the client's body to the server, which decides whether to drain it or to close
// the connection, and whose Close would wait for a slow client here.
func (b *requestBody) Close() error {
	b.halt()
	return nil
}

// allowedTrailer reports whether a trailer may be forwarded. It refuses invalid names, for which the transport
// would blame the endpoint, and fields that frame messages or are trusted: endpoints merge trailers into
// headers.
func allowedTrailer(name string) bool {
	return httpguts.ValidHeaderFieldName(name) && httpguts.ValidTrailerHeader(name) && !forwarded.IsManaged(name)
}
