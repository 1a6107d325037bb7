package forward

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio"
)

var errBodyClosed = errors.New("the request body is closed")

// requestBody is a client's request body on its way to an endpoint, in one attempt. Its replay buffer records
// why reading failed, so that a failure of the client is not attributed to the endpoint. Trailers are copied
// once the body has ended. Its methods, except failed and halt, are called by one goroutine at a time.
type requestBody struct {
	*replayBody
	// trailer is what the transport sends after the body; nil when the client can't send any.
	trailer http.Header
	// at is how many bytes of the body the attempt has read.
	at atomic.Int64
	// closed says that no Read may follow.
	closed atomic.Bool
	// stuck is called when the body is closed while a Read waits for the client; nil does nothing.
	stuck func()
}

// readyBody is a requestBody that can be read without waiting.
type readyBody struct{ *requestBody }

// ReadNow reads what has come from the client.
func (b readyBody) ReadNow(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	if n, ok, err := b.repeat(p, b.at.Load()); ok || b.now == nil {
		return b.taken(n, err)
	}
	if !b.turn.TryLock() {
		return 0, nil // An earlier attempt is reading.
	}
	defer b.turn.Unlock()
	if n, ok, err := b.repeat(p, b.at.Load()); ok {
		return b.taken(n, err)
	}
	n, err := b.now.ReadNow(p)
	b.took(p[:n], err, b.requestBody)
	return b.taken(n, err)
}

// outgoing returns what the transport reads.
func (b *requestBody) outgoing() io.ReadCloser {
	if read, _, _ := b.progress(); b.now != nil || read > 0 {
		return readyBody{b}
	}
	return b
}

func newRequestBody(r *http.Request) *requestBody {
	first := new(struct {
		body       requestBody
		replayBody replayBody
	})
	first.body.replayBody, first.replayBody.from = &first.replayBody, r
	first.replayBody.now, _ = r.Body.(httpio.ReadyReader)
	first.replayBody.current = &first.body
	first.body.prepare()
	return &first.body
}

// again returns the body for another attempt, after promise. The previous attempt's body is halted.
func (b *replayBody) again() *requestBody {
	body := &requestBody{replayBody: b}
	body.prepare()
	b.succeed(body)
	return body
}

func (b *requestBody) prepare() {
	r := b.from
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

// Read reads from the client, or what was read from it for an earlier attempt.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	if n, ok, err := b.repeat(p, b.at.Load()); ok {
		return b.taken(n, err)
	}
	b.turn.Lock()
	defer b.turn.Unlock()
	b.reading.Store(true)
	defer b.reading.Store(false)
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	// An earlier attempt may have read something while this one waited for its turn.
	if n, ok, err := b.repeat(p, b.at.Load()); ok {
		return b.taken(n, err)
	}
	n, err := b.from.Body.Read(p)
	b.took(p[:n], err, b)
	return b.taken(n, err)
}

// taken counts what the attempt has read.
func (b *requestBody) taken(n int, err error) (int, error) {
	b.at.Add(int64(n))
	if errors.Is(err, io.EOF) {
		b.takeTrailers()
	}
	return n, err
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
	if b.halt() && b.stuck != nil {
		b.stuck()
	}
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

// allowedTrailer reports whether a trailer may be forwarded. It refuses invalid names, for which the transport
// would blame the endpoint, and fields that frame messages or are trusted: endpoints merge trailers into
// headers.
func allowedTrailer(name string) bool {
	return httpguts.ValidHeaderFieldName(name) && httpguts.ValidTrailerHeader(name) && !forwarded.IsManaged(name)
}
