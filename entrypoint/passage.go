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

	"github.com/sluiceproxy/sluice/http1"
	"github.com/sluiceproxy/sluice/telemetry"
)

// passage is one request of HTTP/1.1 with its response. The server underneath guards its own writer and body: once the handler has
// returned they reach nobody else's request. What is left to do here is the record.
type passage struct {
	visit
	inner  http.ResponseWriter
	engine engine
	// values is the visit. It outlives its request with the passage: who is late to ask the request's context still reads it.
	values *http1.Values
	body   trailing
	// status is the final status, or 0; sent counts the bytes of the body. A goroutine that the handler left behind may still
	// be changing them when they are told.
	status   atomic.Int32
	sent     atomic.Int64
	hijacked atomic.Bool
	// transient says that nobody keeps a part of the passage.
	transient bool
}

// engine is what the server's writer can do beyond those of net/http.
type engine interface {
	// Attach lets the request's context answer with values.
	Attach(values *http1.Values)
	// Recycle says that nobody keeps a part of the request or of its writer.
	Recycle()
	// Seen reports whether the request came with fields that concern one connection only, and with any whose name begins with "X".
	Seen() (hopByHop, extended bool)
	// WriteFields is WriteHeader for a final status, with fields beside those of Header.
	WriteFields(status int, fields []http1.Field)
}

func newPassage() *passage {
	p := new(passage)
	var values http1.Values = &p.visit
	p.values = &values
	return p
}

// serveHTTP1 is the handler of HTTP/1.1.
func (c *chain) serveHTTP1(w http.ResponseWriter, r *http.Request) {
	p, recycled := c.passages.Get().(*passage)
	if !recycled {
		p = newPassage()
	}
	engine := w.(engine)
	p.inner, p.engine = w, engine
	p.open(c.entrypoint, r)
	p.seen.HopByHop, p.seen.Extended = engine.Seen()
	engine.Attach(p.values)
	if r.Trailer != nil {
		p.body = trailing{ReadCloser: r.Body, passage: p, trailer: r.Trailer}
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
	c.admit(&p.visit, p, r)
	completed = true
}

// Recycle says that nobody keeps a part of the request or of this writer after the handler has returned.
func (p *passage) Recycle() { p.transient = true }

// recycle lets the passage serve another request, if nobody keeps a part of it.
func (p *passage) recycle() {
	if !p.transient || p.hijacked.Load() {
		return
	}
	p.engine.Recycle()
	pool := &p.entrypoint.chain.passages
	*p = passage{values: p.values}
	pool.Put(p)
}

// finish ends the visit after its handler.
func (p *passage) finish() {
	if p.status.Load() == 0 && !p.hijacked.Load() {
		if p.record.Status == statusClientLeft {
			// The server would answer 200 in the name of a handler that has given up.
			p.end()
			panic(http.ErrAbortHandler)
		}
		if p.context.Err() == nil {
			// The server sends it. A goroutine that the handler left behind may be writing, so that nothing is written here.
			p.status.CompareAndSwap(0, http.StatusOK)
		}
	}
	p.end()
	p.recycle()
}

// failed ends a visit whose handler has panicked, or has ended its goroutine.
func (p *passage) failed(cause any) {
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

func (p *passage) end() {
	p.over.Store(true)
	p.record.BytesSent = p.sent.Load()
	if p.record.Observe.Has(telemetry.ObserveHeaders) && !p.hijacked.Load() {
		p.record.ResponseHeader = p.inner.Header()
	}
	p.tell(int(p.status.Load()))
}

// Header returns the header of the response. After the end of the visit it is a new map that nobody reads.
func (p *passage) Header() http.Header {
	if p.over.Load() {
		return http.Header{}
	}
	return p.inner.Header()
}

// WriteHeader sends the header. The first status of 200 or more, or 101, is the response's; others before it are informational
// (RFC 9110, section 15.2).
func (p *passage) WriteHeader(status int) {
	if p.over.Load() {
		return
	}
	if status >= http.StatusOK && status <= 999 || status == http.StatusSwitchingProtocols {
		p.begin(status)
	}
	p.inner.WriteHeader(status)
}

// WriteFields sends the header with fields beside those of Header. The status is final.
func (p *passage) WriteFields(status int, fields []http1.Field) {
	if p.over.Load() {
		return
	}
	p.begin(status)
	p.engine.WriteFields(status, fields)
}

// begin notes the final status, if there is none yet, before the header is sent.
func (p *passage) begin(status int) {
	if p.status.Load() != 0 || !p.status.CompareAndSwap(0, int32(status)) { //nolint:gosec // three digits
		return
	}
	if p.last.Load() && status != http.StatusSwitchingProtocols {
		p.inner.Header().Set("Connection", "close")
	}
}

// Write sends a part of the body.
func (p *passage) Write(b []byte) (int, error) {
	if p.over.Load() {
		return 0, ErrFinished
	}
	p.begin(http.StatusOK)
	n, err := p.inner.Write(b)
	p.count(int64(n))
	return n, err
}

// WriteString sends a part of the body.
func (p *passage) WriteString(s string) (int, error) {
	if p.over.Load() {
		return 0, ErrFinished
	}
	p.begin(http.StatusOK)
	n, err := io.WriteString(p.inner, s)
	p.count(int64(n))
	return n, err
}

// ReadFrom sends what source has to say, from socket to socket where the operating system can.
func (p *passage) ReadFrom(source io.Reader) (int64, error) {
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
func (p *passage) Splices() bool {
	splicer, ok := p.inner.(interface{ Splices() bool })
	return ok && !p.over.Load() && splicer.Splices()
}

func (p *passage) count(n int64) {
	if p.record.Method != http.MethodHead {
		p.sent.Add(n)
	}
}

// Flush sends what has been written so far.
func (p *passage) Flush() { _ = p.FlushError() }

// FlushError sends what has been written so far.
func (p *passage) FlushError() error {
	if p.over.Load() {
		return ErrFinished
	}
	p.begin(http.StatusOK)
	return http.NewResponseController(p.inner).Flush()
}

// Hijack takes the connection over. It stays with the caller after the end of the visit, and counts as open until it is closed.
func (p *passage) Hijack() (net.Conn, *bufio.ReadWriter, error) {
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
func (p *passage) EnableFullDuplex() error {
	if p.over.Load() {
		return ErrFinished
	}
	return nil
}

// SetReadDeadline sets until when the body is waited for, in place of respondingTimeouts.readTimeout.
func (p *passage) SetReadDeadline(deadline time.Time) error {
	if p.over.Load() {
		return ErrFinished
	}
	return http.NewResponseController(p.inner).SetReadDeadline(deadline)
}

// SetWriteDeadline sets until when the response may be written, in place of respondingTimeouts.writeTimeout.
func (p *passage) SetWriteDeadline(deadline time.Time) error {
	if p.over.Load() {
		return ErrFinished
	}
	return http.NewResponseController(p.inner).SetWriteDeadline(deadline)
}

// trailing is a body whose length nobody declared. Trailers that nobody announced come with its end.
type trailing struct {
	io.ReadCloser
	passage *passage
	trailer http.Header
	ended   bool
}

// Read reads from the body.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.passage.bytes.Add(int64(n))
	if !t.ended && errors.Is(err, io.EOF) {
		t.ended = true
		t.passage.believe(t.trailer)
	}
	return n, err
}
