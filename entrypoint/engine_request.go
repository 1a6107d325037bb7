package entrypoint

import (
	"errors"
	"io"
	"net/http"
	"runtime/debug"

	"github.com/sluiceproxy/sluice/httpio/serving"
	"github.com/sluiceproxy/sluice/telemetry"
)

// engineRequest is the state of one request of HTTP/1.1 or HTTP/2, whose servers are http1's and http2's: their writer
// holds it until the end of the response.
// The handler gets that writer, which guards itself and the body: once the handler has returned, calls on them fail.
type engineRequest struct {
	requestState
	// values is the request itself as the context holds it. Late calls of the context still read it.
	values *serving.RequestState
	body   trailing
}

// engineWriter is the writer of the servers of HTTP/1.1 and HTTP/2.
type engineWriter interface {
	responseWriter
	// Attach lets the request's context answer with state, which gets the end of the response.
	Attach(state *serving.RequestState)
	// Answered reports whether the response has a status, or the connection was hijacked.
	Answered() bool
	// Seen reports whether the request came with fields that concern one connection only, and with any whose name
	// begins with "X".
	Seen() (hopByHop, extended bool)
}

func newEngineRequest() *engineRequest {
	p := new(engineRequest)
	var values serving.RequestState = p
	p.values = &values
	return p
}

// serve is the handler of HTTP/1.1 and HTTP/2.
func (c *chain) serve(writer http.ResponseWriter, r *http.Request) {
	p, recycled := c.recycled.Get().(*engineRequest)
	if !recycled {
		p = newEngineRequest()
	}
	w := writer.(engineWriter)
	p.open(c.entrypoint, r)
	p.seen.HopByHop, p.seen.Extended = w.Seen()
	w.Attach(p.values)
	if r.Trailer != nil {
		p.body = trailing{ReadCloser: r.Body, request: p, trailer: r.Trailer}
		r.Body = &p.body
	}
	completed := false
	defer func() {
		cut := !completed && p.failed(w, recover())
		p.over.Store(true)
		p.left = !w.Answered() && p.context.Err() != nil
		if cut {
			// The server cuts the connection, so that the client does not take a part for the whole.
			panic(http.ErrAbortHandler)
		}
	}()
	c.admit(&p.requestState, w, r)
	if p.record.Status == statusClientLeft && !w.Answered() {
		// The server would answer 200 in the name of a handler that has given up.
		panic(http.ErrAbortHandler)
	}
	completed = true
}

// failed handles the panic of a handler, or the end of its goroutine, and reports whether the response is cut off.
func (p *engineRequest) failed(w engineWriter, cause any) (cut bool) {
	if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares the value of a panic the same way.
		return true
	}
	p.panicked(cause, debug.Stack())
	if w.Answered() {
		return true
	}
	clear(w.Header())
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	return false
}

// Completed reports the record, now that the last byte of the response has been written, and recycles the request where
// no part of it is kept.
func (p *engineRequest) Completed(end serving.Completion) {
	status := end.Status
	if p.left {
		status = 0 // The server has answered for the handler.
	}
	p.record.BytesSent = end.Sent
	if p.record.Observe.Has(telemetry.ObserveHeaders) {
		p.record.ResponseHeader = end.Header
	}
	if end.Err != nil {
		if status == 0 {
			status = statusClientLeft
		}
		if p.record.Code == "" {
			p.record.Code = telemetry.CodeClientLeft
		}
	}
	p.submit(status)
	if end.Recycled {
		pool := &p.entrypoint.chain.recycled
		*p = engineRequest{values: p.values}
		pool.Put(p)
	}
}

// trailing is a body of undeclared length. Trailers that were not announced come with its end.
type trailing struct {
	io.ReadCloser
	request *engineRequest
	trailer http.Header
	ended   bool
}

// Read reads from the body.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.request.bytes.Add(int64(n))
	if !t.ended && errors.Is(err, io.EOF) {
		t.ended = true
		t.request.believe(t.trailer)
	}
	return n, err
}
