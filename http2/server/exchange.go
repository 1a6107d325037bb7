package server

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio/heads"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

const (
	// inlineValues is how many values of fields have room in an exchange itself: those of a browser's request.
	inlineValues = 24
	// defaultUrgency and leastUrgency are those of RFC 9218, section 4.1.
	defaultUrgency, leastUrgency = 3, 7
)

// priority is the order of a response among those of its connection (RFC 9218, section 4): a lower urgency comes first,
// and responses that are not incremental come one after the other.
type priority struct {
	urgency     uint8
	incremental bool
}

// exchange is one request with its response, and the stream that carries them. While the handler runs, the rules of
// http.ResponseWriter hold: one goroutine at a time writes, one reads.
type exchange struct {
	guard serving.Guard
	conn  *serverConn
	id    uint32
	// recyclable says that no part of the exchange is used after its handler has returned.
	recyclable bool
	// head says that the method is HEAD, whatever the handler makes of the request.
	head bool

	start   time.Time
	request http.Request
	url     url.URL
	context *serving.Context
	// state is what the handler has attached, until Completed has been called.
	state serving.RequestState
	// fields is the map of the request's header as it was made, values the memory of its values.
	fields  http.Header
	values  [inlineValues]string
	used    int
	trailer http.Header

	// What the head says beside the fields: see block.
	scheme, host       string
	protocol           string
	cookies            []string
	declared           int64
	count              int
	size               int64
	regular            bool
	hopByHop, extended bool
	// status and reason are why the request is answered without the handler; 0 if it is not.
	status int
	reason string

	body     requestBody
	response response
	// tunnel is the stream of an extended CONNECT, or nil.
	tunnel *tunnel

	// The mutex of the connection guards what follows.

	// hijacked says that tunnel belongs to the handler. The handler's goroutine sets it.
	hijacked bool
	// failure is why the stream has ended before its time: nothing is read or written any more.
	failure error
	// sendWindow is how much the client accepts on the stream.
	sendWindow int64
	// sendable is signalled when more may be sent.
	sendable sync.Cond
	priority priority
	// sent says that END_STREAM or RST_STREAM has been sent or come.
	sent bool
	// unsent is what of the body waits for a window or for room; unsentLast says that the stream ends with it.
	unsent     []byte
	unsentLast bool
}

// init begins an exchange with a stream.
func (x *exchange) init(c *serverConn, id uint32) {
	x.conn, x.id, x.declared = c, id, -1
	x.sendWindow, x.priority = c.initialWindow, priority{urgency: defaultUrgency}
	x.sendable.L, x.body.readable.L = &c.mutex, &c.mutex
	x.body.exchange = x
}

// addField adds a field of the request.
func (x *exchange) addField(name, value string) {
	if x.fields == nil {
		x.fields = make(http.Header, inlineValues)
	}
	if prior, ok := x.fields[name]; ok {
		x.fields[name] = append(prior, value)
		return
	}
	if x.used == len(x.values) {
		x.fields[name] = []string{value}
		return
	}
	x.values[x.used] = value
	x.used++
	x.fields[name] = x.values[x.used-1 : x.used : x.used]
}

// addCookie adds a part of the field Cookie, which a client may divide (RFC 9113, section 8.2.3). The parts are joined
// when the head is known to be accepted: many of them may be references to one entry of the table.
func (x *exchange) addCookie(value string) {
	prior, ok := x.fields["Cookie"]
	switch {
	case !ok:
		x.addField("Cookie", value)
	case x.cookies == nil:
		x.cookies = []string{prior[0], value}
	default:
		x.cookies = append(x.cookies, value)
	}
}

// dropFields ends what the fields so far hold.
func (x *exchange) dropFields() {
	clear(x.fields)
	clear(x.values[:x.used])
	x.used, x.cookies, x.trailer = 0, nil, nil
}

// announce notes the names of trailers.
func (x *exchange) announce(list string) {
	for name := range strings.SplitSeq(list, ",") {
		name = http.CanonicalHeaderKey(strings.Trim(name, " \t"))
		if name != "" && !http1wire.ForbiddenTrailer(name) {
			if x.trailer == nil {
				x.trailer = http.Header{}
			}
			x.trailer[name] = nil
			x.size += heads.TrailerOverhead
		}
	}
}

// build completes the request. ended says that there is no body.
func (x *exchange) build(ended bool) {
	c, r := x.conn, &x.request
	if x.cookies != nil {
		x.fields["Cookie"][0] = strings.Join(x.cookies, "; ")
		x.cookies = nil
	}
	if x.fields == nil {
		x.fields = http.Header{}
	}
	x.size += int64(len(r.Method) + len(r.Host) + len(r.RequestURI))
	x.start = time.Now()
	if timeout := c.server.WriteTimeout; timeout > 0 {
		defer x.limitWriteAfter(timeout)
	}
	x.context = &serving.Context{Base: c.base, Local: c.local}
	x.head = r.Method == http.MethodHead
	r.URL, r.Header, r.RemoteAddr, r.TLS = &x.url, x.fields, c.remote, c.secure
	r.Proto, r.ProtoMajor = "HTTP/2.0", 2
	switch {
	case x.tunnel != nil:
		r.Body = http.NoBody
		x.body.open(-1)
		x.body.ended = ended
	case ended:
		r.Body = http.NoBody
		x.body.ended = true
	default:
		r.Body, r.ContentLength = &x.body, x.declared
		x.body.open(x.declared)
		if x.trailer == nil && x.declared < 0 {
			// Copies of the request share the map, and see trailers that nothing announced.
			x.trailer = http.Header{}
		}
		r.Trailer = x.trailer
	}
	if values := x.fields["Priority"]; len(values) == 1 {
		x.priority = parsePriority(values[0])
	}
	*r = *r.WithContext(x.context)
}

// limitWriteAfter bounds the response.
func (x *exchange) limitWriteAfter(timeout time.Duration) {
	x.conn.mutex.Lock()
	defer x.conn.mutex.Unlock()
	x.limitWrite(x.start.Add(timeout))
}

// serve runs the handler and ends the exchange. It runs on a goroutine of the server.
func (x *exchange) serve() {
	c := x.conn
	size := x.size
	completed := false
	defer func() {
		if !completed {
			x.failed(recover())
		}
		c.handled(size)
	}()
	if x.status == 0 && x.declared == 0 && !x.ended() {
		x.reject(http.StatusBadRequest, "content-length is 0, and the body has not ended")
	}
	if x.status == 0 {
		c.server.Handler.ServeHTTP(x, &x.request)
	} else {
		x.refuse()
	}
	x.finish()
	completed = true
}

// ended waits for the end of a body of the length 0, after which the request has none: handlers would take one that may
// still turn out to be malformed for a whole request.
func (x *exchange) ended() bool {
	if x.request.Body != http.NoBody {
		if _, err := x.body.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			return false
		}
		x.request.Body = http.NoBody
	}
	return true
}

// refuse answers a request without the handler.
func (x *exchange) refuse() {
	http.Error(x, http.StatusText(x.status), x.status)
	if report := x.conn.server.Refused; report != nil {
		report(&x.request, x.status, x.reason)
	}
}

// handled notes that a handler has returned.
func (c *serverConn) handled(size int64) {
	if size > 0 {
		c.heads.Give(size)
	}
	c.mutex.Lock()
	c.running--
	c.mutex.Unlock()
}

// failed ends an exchange whose handler has panicked, or has ended its goroutine: the client must not take a part for
// the whole.
func (x *exchange) failed(cause any) {
	x.recyclable = false
	report := x.conn.server.Panicked
	aborted := cause == http.ErrAbortHandler //nolint:errorlint // net/http compares the value of a panic the same way.
	if report != nil && cause != nil && !aborted {
		report(&x.request, cause, debug.Stack())
	}
	x.die()
	x.context.Detach()
	x.context.Cancel()
	c := x.conn
	c.mutex.Lock()
	c.resetStream(x, wire.InternalError, errAborted)
	c.out.start()
	c.mutex.Unlock()
	x.completed(nil)
}

// finish completes the response and ends the exchange.
func (x *exchange) finish() {
	abandoned := x.die()
	x.context.Detach()
	x.context.Cancel()
	if abandoned {
		x.completed(nil)
		return
	}
	err := x.complete()
	switch {
	case errors.Is(err, errShort):
		x.completed(nil) // The client is not to blame.
	case err != nil:
		x.completed(err)
	}
}

// die ends the exchange for all other goroutines, and has calls that are under way return. It reports whether one of
// them writes: the response is its own then, and the stream has been reset.
func (x *exchange) die() (abandoned bool) {
	if x.guard.EndIdle() {
		return false
	}
	under := x.guard.End()
	if !under.Any() {
		return false
	}
	x.recyclable = false
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	x.body.failLocked(serving.ErrFinished)
	if under.Writes {
		c.resetStream(x, wire.InternalError, errAborted)
		c.out.start()
	}
	return under.Writes
}

// completed reports the end of the response, once its last byte has been written or could not be.
func (x *exchange) completed(err error) {
	under := x.guard.Under()
	recycled := x.recyclable && !under.Any()
	if state := x.state; state != nil {
		x.state = nil
		r := &x.response
		end := serving.Completion{Status: int(r.status.Load()), Header: r.fields(), Recycled: recycled, Err: err}
		switch {
		case x.hijacked: // What it sends is no response.
			end.Header, end.Err = nil, nil
		case !under.Writes: // Otherwise the rest belongs to the call that is under way.
			end.Sent = r.delivered
			if err != nil && !r.begun {
				end.Status = 0
			}
		}
		state.Completed(end)
	}
	if !under.Any() {
		x.release()
		if recycled {
			x.conn.server.pool.putExchange(x)
		}
	}
}

// release gives buffers back.
func (x *exchange) release() {
	pool := &x.conn.server.pool
	if x.response.buf != nil {
		pool.putWrite(x.response.buf)
		x.response.buf, x.response.buffer = nil, nil
	}
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, timer := range [...]*time.Timer{x.body.timer, x.response.timer} {
		if timer != nil {
			timer.Stop()
		}
	}
	x.body.came.Release(&pool.Pools)
}
