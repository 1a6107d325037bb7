package entrypoint

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

// http1Request is one request of HTTP/1.1 with its response. The server underneath guards its own writer and body: once
// the handler has returned, calls on them fail. What is left to do here is the record.
type http1Request struct {
	requestState
	inner  http.ResponseWriter
	engine engine
	// values is the request itself as the context holds it. Late calls of the context still read it.
	values *server.RequestState
	body   trailing
	// status is the final status, or 0; sent counts the bytes of the body. A goroutine that the handler left behind may
	// still be changing them when they are told.
	status   atomic.Int32
	sent     atomic.Int64
	hijacked atomic.Bool
	// recyclable says that no part of the request is used after its handler has returned.
	recyclable bool
}

// engine is what the server's writer can do beyond those of net/http.
type engine interface {
	// Attach lets the request's context answer with state, which gets the end of the response.
	Attach(state *server.RequestState)
	// Recycle says that no part of the request or of its writer is used after the handler has returned.
	Recycle()
	// Seen reports whether the request came with fields that concern one connection only, and with any whose name
	// begins with "X".
	Seen() (hopByHop, extended bool)
	// WriteFields is WriteHeader for a final status, with fields beside those of Header.
	WriteFields(status int, fields []wire.Field)
}

func newHTTP1Request() *http1Request {
	p := new(http1Request)
	var values server.RequestState = p
	p.values = &values
	return p
}

// serveHTTP1 is the handler of HTTP/1.1.
func (c *chain) serveHTTP1(w http.ResponseWriter, r *http.Request) {
	p, recycled := c.recycled.Get().(*http1Request)
	if !recycled {
		p = newHTTP1Request()
	}
	engine := w.(engine)
	p.inner, p.engine = w, engine
	p.open(c.entrypoint, r)
	p.seen.HopByHop, p.seen.Extended = engine.Seen()
	engine.Attach(p.values)
	if r.Trailer != nil {
		p.body = trailing{ReadCloser: r.Body, request: p, trailer: r.Trailer}
		r.Body = &p.body
	}
	completed := false
	defer func() {
		if completed {
			p.finish()
			return
		}
		p.failed(recover())
	}()
	c.admit(&p.requestState, p, r)
	completed = true
}

// Recycle says that no part of the request or of this writer is used after the handler has returned.
func (p *http1Request) Recycle() { p.recyclable = true }

// finish ends the request for its handler.
func (p *http1Request) finish() {
	if p.status.Load() == 0 && !p.hijacked.Load() {
		if p.record.Status == statusClientLeft {
			// The server would answer 200 in the name of a handler that has given up.
			p.failed(http.ErrAbortHandler)
		}
		if p.context.Err() == nil {
			// The server sends it. A goroutine that the handler left behind may be writing, so that nothing is written
			// here.
			p.status.CompareAndSwap(0, http.StatusOK)
		}
	}
	p.end()
	if p.recyclable = p.recyclable && !p.hijacked.Load(); p.recyclable {
		p.engine.Recycle()
	}
}

// failed ends a request whose handler has panicked, or has ended its goroutine.
func (p *http1Request) failed(cause any) {
	p.recyclable = false
	if cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares the value of a panic the same way.
		p.panicked(cause, debug.Stack())
		if p.status.Load() == 0 && !p.hijacked.Load() {
			clear(p.Header())
			http.Error(p, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			p.end()
			return
		}
	}
	p.end()
	// The server cuts the connection, so that the client does not take a part for the whole.
	panic(http.ErrAbortHandler)
}

// end closes the request to calls that come late.
func (p *http1Request) end() {
	p.over.Store(true)
	p.left = p.context.Err() != nil
	if p.record.Observe.Has(telemetry.ObserveHeaders) && !p.hijacked.Load() {
		p.record.ResponseHeader = p.inner.Header()
	}
}

// Completed reports the record, now that the last byte of the response has been written, and recycles the request where
// no part of it is kept.
func (p *http1Request) Completed(end server.Completion) {
	status := int(p.status.Load())
	p.record.BytesSent = max(p.sent.Load()-end.Unsent, 0)
	if end.Err != nil && !p.hijacked.Load() {
		if !end.Begun {
			status = statusClientLeft
		}
		if p.record.Code == "" && !end.Abandoned {
			p.record.Code = telemetry.CodeClientLeft
		}
	}
	p.tell(status)
	if p.recyclable && !end.Abandoned {
		pool := &p.entrypoint.chain.recycled
		*p = http1Request{values: p.values}
		pool.Put(p)
	}
}

// Header returns the header of the response. After the end of the request it is a new map without effect.
func (p *http1Request) Header() http.Header {
	if p.over.Load() {
		return http.Header{}
	}
	return p.inner.Header()
}

// WriteHeader sends the header. The first status of 200 or more, or 101, is the response's; others before it are
// informational (RFC 9110, section 15.2).
func (p *http1Request) WriteHeader(status int) {
	if p.over.Load() {
		return
	}
	if status >= http.StatusOK && status <= 999 || status == http.StatusSwitchingProtocols {
		p.begin(status)
	}
	p.inner.WriteHeader(status)
}

// WriteFields sends the header with fields beside those of Header. The status is final.
func (p *http1Request) WriteFields(status int, fields []wire.Field) {
	if p.over.Load() {
		return
	}
	p.begin(status)
	p.engine.WriteFields(status, fields)
}

// begin notes the final status, if there is none yet, before the header is sent.
func (p *http1Request) begin(status int) {
	if p.status.Load() != 0 || !p.status.CompareAndSwap(0, int32(status)) { //nolint:gosec // three digits
		return
	}
	if p.last.Load() && status != http.StatusSwitchingProtocols {
		p.inner.Header().Set("Connection", "close")
	}
}

// Write sends a part of the body.
func (p *http1Request) Write(b []byte) (int, error) {
	if p.over.Load() {
		return 0, ErrFinished
	}
	p.begin(http.StatusOK)
	n, err := p.inner.Write(b)
	p.count(int64(n))
	return n, err
}

// WriteString sends a part of the body.
func (p *http1Request) WriteString(s string) (int, error) {
	if p.over.Load() {
		return 0, ErrFinished
	}
	p.begin(http.StatusOK)
	n, err := io.WriteString(p.inner, s)
	p.count(int64(n))
	return n, err
}

// ReadFrom sends what source has to say, from socket to socket where the operating system can.
func (p *http1Request) ReadFrom(source io.Reader) (int64, error) {
	if p.over.Load() {
		return 0, ErrFinished
	}
	p.begin(http.StatusOK)
	var n int64
	var err error
	if direct, ok := p.inner.(io.ReaderFrom); ok {
		n, err = direct.ReadFrom(source)
	} else {
		n, err = io.Copy(p.inner, source)
	}
	p.count(n)
	return n, err
}

// Splices reports whether ReadFrom keeps nothing back that Flush would have to send.
func (p *http1Request) Splices() bool {
	return !p.over.Load() && httpio.Splices(p.inner)
}

func (p *http1Request) count(n int64) {
	if p.record.Method != http.MethodHead {
		p.sent.Add(n)
	}
}

// Flush sends what has been written so far.
func (p *http1Request) Flush() { _ = p.FlushError() }

// FlushError sends what has been written so far.
func (p *http1Request) FlushError() error {
	if p.over.Load() {
		return ErrFinished
	}
	p.begin(http.StatusOK)
	return http.NewResponseController(p.inner).Flush()
}

// Hijack takes the connection over. It stays with the caller after the end of the request, and counts as open until it
// is closed.
func (p *http1Request) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if p.over.Load() {
		return nil, nil, ErrFinished
	}
	conn, buffers, err := http.NewResponseController(p.inner).Hijack()
	if err != nil {
		return nil, nil, err
	}
	p.hijacked.Store(true)
	p.status.CompareAndSwap(0, http.StatusSwitchingProtocols)
	return conn, buffers, nil
}

// EnableFullDuplex allows to read the body after the response has begun. It always is allowed here.
func (p *http1Request) EnableFullDuplex() error {
	if p.over.Load() {
		return ErrFinished
	}
	return nil
}

// SetReadDeadline sets until when the body is waited for, in place of respondingTimeouts.readTimeout.
func (p *http1Request) SetReadDeadline(deadline time.Time) error {
	if p.over.Load() {
		return ErrFinished
	}
	return http.NewResponseController(p.inner).SetReadDeadline(deadline)
}

// SetWriteDeadline sets until when the response may be written, in place of respondingTimeouts.writeTimeout.
func (p *http1Request) SetWriteDeadline(deadline time.Time) error {
	if p.over.Load() {
		return ErrFinished
	}
	return http.NewResponseController(p.inner).SetWriteDeadline(deadline)
}

// trailing is a body of undeclared length. Trailers that were not announced come with its end.
type trailing struct {
	io.ReadCloser
	request *http1Request
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
