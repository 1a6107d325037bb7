package server

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

// outcome says what becomes of a connection after an exchange.
type outcome uint8

const (
	keepServing outcome = iota
	// keepHijacked belongs to the handler now.
	keepHijacked
	// closeConn is closed.
	closeConn
	// closeAbandoned is closed while a call of a goroutine that the handler left behind may still hold its buffers.
	closeAbandoned
)

// inlineValues is how many header values have room in an exchange itself: those of a browser's request.
const inlineValues = 20

// exchange is one request with its response. It is made for one request and never used again, so that a part of it that
// is kept does no harm to another, unless the handler has said that none is (Recycle). While the handler runs, the
// rules of http.ResponseWriter hold: one goroutine at a time writes, one reads.
type exchange struct {
	guard serving.Guard
	// interrupted says that the handler has returned while calls were under way.
	interrupted atomic.Bool
	hijacked    atomic.Bool
	// recyclable says that no part of the exchange is used after its handler has returned.
	recyclable bool
	// closeAfter says that the connection ends with this exchange; reading and writing may find out.
	closeAfter atomic.Bool

	conn    *serverConn
	start   time.Time
	request http.Request
	url     url.URL
	context *requestContext
	// state is what the handler has attached, until Completed has been called.
	state serving.RequestState
	// fields is the map of the request's header as it was made.
	fields   http.Header
	body     requestBody
	response response
	trailer  http.Header

	minor      int
	persistent bool
	// hopByHop and extended say what kinds of fields the request has.
	hopByHop, extended bool
	// head says that the method is HEAD, whatever the handler makes of the request.
	head bool
	// reset has cut reset the connection.
	reset    bool
	encoding [1]string
	values   [inlineValues]string
}

// parse fills the request from a head.
func (x *exchange) parse(head []byte) error {
	var parsed wire.Request
	parsed.Values, parsed.Header = x.values[:0], x.fields
	if err := parsed.Parse(head); err != nil {
		return err
	}
	host, err := parsed.URL(&x.url)
	if err != nil {
		return err
	}
	c := x.conn
	x.fields, x.hopByHop, x.extended = parsed.Header, parsed.HopByHop, parsed.Extended
	x.context = &requestContext{Context: serving.Context{Base: c.base, Local: c.local}, conn: c, exchange: x}
	x.minor, x.persistent, x.head = parsed.Minor, parsed.Persistent(), parsed.Method == http.MethodHead
	x.request = http.Request{
		Method: parsed.Method, URL: &x.url,
		Proto: parsed.Version, ProtoMajor: 1, ProtoMinor: int(parsed.Version[len(parsed.Version)-1] - '0'),
		Header: parsed.Header, Host: host, RemoteAddr: c.remote, RequestURI: parsed.Target, TLS: c.secure,
		Close: !x.persistent, Body: &x.body,
	}
	x.request = *x.request.WithContext(x.context)
	x.body.exchange = x
	switch parsed.Framing() {
	case wire.ChunkedBody:
		x.encoding[0] = "chunked"
		x.request.TransferEncoding = x.encoding[:]
		x.request.ContentLength = -1
		x.body.chunks = new(wire.Chunked)
		if x.trailer = parsed.Announced; x.trailer == nil {
			// Copies of the request share the map, and see trailers that nothing announced.
			x.trailer = http.Header{}
		}
		x.request.Trailer = x.trailer
	case wire.FixedLength:
		x.request.ContentLength = parsed.Length
		x.body.left = parsed.Length
	default:
		x.body.ended.Store(true)
		x.context.whole.Store(true)
		x.request.Body = http.NoBody
	}
	if len(x.request.Header["Expect"]) > 0 {
		return x.expect()
	}
	return nil
}

// expect looks at what the client expects (RFC 9110, section 10.1.1).
func (x *exchange) expect() error {
	values := x.request.Header["Expect"]
	if len(values) > 1 || !strings.EqualFold(values[0], "100-continue") {
		return errExpectation
	}
	x.body.expects = x.minor > 0 && !x.body.ended.Load()
	return nil
}

// errExpectation is an Expect other than 100-continue.
var errExpectation = &wire.Error{
	Status: http.StatusExpectationFailed, Reason: "unknown expectation", Section: "RFC 9110, section 10.1.1",
}

// serve runs the handler and ends the exchange.
func (x *exchange) serve() (next outcome) {
	c := x.conn
	c.setWriteDeadline(x.start)
	c.current.Store(x.context)
	if left := c.left.Load(); left == clientGone || left == clientSilent && x.context.whole.Load() || c.base.Err() != nil {
		x.context.Cancel()
	}
	completed := false
	defer func() {
		if !completed {
			// The client must not take a part for the whole.
			next = x.failed(recover())
		}
		c.current.Store(nil)
		x.context.Cancel()
		x.completed()
	}()
	c.server.Handler.ServeHTTP(x, &x.request)
	next = x.finish()
	completed = true
	return next
}

// failed ends an exchange whose handler has panicked, or has ended its goroutine.
func (x *exchange) failed(cause any) outcome {
	x.recyclable = false
	report := x.conn.server.Panicked
	aborted := cause == http.ErrAbortHandler //nolint:errorlint // net/http compares the value of a panic the same way.
	if report != nil && cause != nil && !aborted {
		report(&x.request, cause, debug.Stack())
	}
	abandoned := !x.guard.EndIdle() && x.die()
	switch {
	case x.hijacked.Load():
		return keepHijacked
	case abandoned:
		x.cut()
		return closeAbandoned
	}
	if x.response.err == nil {
		x.response.unsent = x.response.buffered()
	}
	x.cut()
	x.recycle()
	return closeConn
}

// cut ends the connection such that a response which ends with it is seen to be incomplete: with a reset, and without
// TLS saying that this was all. Only HTTP/1.0 has such responses; how this one is framed may not be known yet to a call
// that has not returned. ResetConn demands the reset in any case.
func (x *exchange) cut() {
	below := httpio.Bottom(x.conn.rwc)
	if x.minor == 0 || x.reset {
		_ = httpio.SetLinger(below, 0) // a connection that can't is closed as it is
	}
	_ = below.Close()
}

// finish completes the response and ends the exchange.
func (x *exchange) finish() outcome {
	c := x.conn
	abandoned := !x.guard.EndIdle() && x.die()
	x.context.Cancel()
	x.context.Detach()
	if abandoned {
		return x.finishAbandoned()
	}
	if x.hijacked.Load() {
		return keepHijacked
	}
	err := x.complete()
	x.completed()
	x.recycle()
	x.stopReadAhead()
	if x.body.userDeadline.Load() != nil {
		c.armed = time.Time{}
		_ = c.rwc.SetReadDeadline(time.Time{})
	}
	if x.response.userDeadline && !x.closeAfter.Load() {
		_ = c.rwc.SetWriteDeadline(time.Time{})
	}
	switch {
	case err != nil:
		x.cut()
		return closeConn
	case x.body.ended.Load() && !x.closeAfter.Load():
		c.release()
		return keepServing
	case x.closeAfter.Load() || !x.body.discard():
		if !x.body.ended.Load() || c.at < c.end || x.persistent && c.pending() {
			c.linger()
		}
		return closeConn
	}
	c.release()
	return keepServing
}

// completed reports the end of the response to what the handler has attached.
func (x *exchange) completed() {
	state := x.state
	if state == nil {
		return
	}
	x.state = nil
	r, under := &x.response, x.guard.Under()
	end := serving.Completion{Status: int(r.status.Load()), Header: r.fields(), Recycled: x.recyclable && !under.Any()}
	if !x.head {
		end.Sent = r.written.Load()
	}
	switch {
	case x.hijacked.Load():
		end.Status, end.Header, end.Recycled = cmp.Or(end.Status, http.StatusSwitchingProtocols), nil, false
	case under.Writes: // The rest of the response belongs to the call that is under way.
	default:
		end.Sent, end.Err = max(end.Sent-r.unsent, 0), r.err
		if r.err != nil && !r.sent {
			end.Status = 0
		}
	}
	state.Completed(end)
}

// finishAbandoned ends an exchange whose handler left a call behind that is under way. The connection serves no other
// request.
func (x *exchange) finishAbandoned() outcome {
	if x.hijacked.Load() {
		return keepHijacked
	}
	x.recyclable = false // The call that is under way may end before the response is completed.
	if x.guard.Under().Writes || x.complete() != nil {
		x.cut()
		return closeAbandoned
	}
	x.completed()
	x.recycle()
	x.conn.linger()
	_ = x.conn.rwc.Close()
	return closeAbandoned
}

// die ends the exchange for all other goroutines, interrupts their calls, and reports whether any are under way.
func (x *exchange) die() (abandoned bool) {
	under := x.guard.End()
	if !under.Any() {
		return false
	}
	x.closeAfter.Store(true)
	if x.hijacked.Load() {
		return true
	}
	x.interrupted.Store(true)
	_ = x.conn.rwc.SetReadDeadline(time.Unix(1, 0))
	if under.Writes {
		_ = x.conn.rwc.SetWriteDeadline(time.Unix(1, 0))
	}
	return true
}

// continueLock keeps 100 Continue, which the reader of the body sends, apart from the response.
type continueLock struct {
	mutex sync.Mutex
	// over says that a final response has begun.
	over bool
}

// ResetConn implements [httpio.ConnResetter].
func (x *exchange) ResetConn() {
	if x.guard.Write() {
		x.reset = true
		x.guard.EndWrite()
	}
}

// hijackBytes is the size of the buffers of a hijacked connection.
const hijackBytes = 4 << 10

// Hijack hands the connection over to the handler, with what has been read ahead and not used. It stays with the
// handler after the end of the exchange. The request's body can't be read any more.
func (x *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !x.guard.Write() {
		return nil, nil, serving.ErrFinished
	}
	defer x.guard.EndWrite()
	if x.hijacked.Load() {
		return nil, nil, http.ErrHijacked
	}
	if x.response.status.Load() != 0 {
		if err := x.flush(); err != nil {
			return nil, nil, err
		}
	}
	c := x.conn
	// From here on reading ahead does not begin.
	x.hijacked.Store(true)
	x.stopReadAhead()
	c.unwatch()
	if err := c.rwc.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	rest := bytes.Clone(c.in[c.at:c.end])
	c.drop()
	x.recycle()
	reader := bufio.NewReaderSize(c.rwc, hijackBytes)
	if len(rest) > 0 {
		reader = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(rest), c.rwc), max(hijackBytes, len(rest)))
		// Buffered reports what is there, as with net/http.
		_, _ = reader.Peek(len(rest))
	}
	return c.rwc, bufio.NewReadWriter(reader, bufio.NewWriterSize(c.rwc, hijackBytes)), nil
}
