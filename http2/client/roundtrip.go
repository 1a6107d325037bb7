package client

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/buffer"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio/afterfunc"
)

// maxTries is how often a request is sent at most that the endpoint says it has not processed.
const maxTries = 4

// ErrNotHTTP2 is what Config.Dial returns for an endpoint that does not agree on HTTP/2. It is returned as it is, and
// the request's body is untouched then.
var ErrNotHTTP2 = errors.New("the endpoint chose another protocol than HTTP/2")

var errRoundTripUsed = errors.New("http2: a RoundTrip serves one request")

// RoundTrip is one request and its response as its caller sees them: the response and its body are parts of it. It
// serves one request, and another after Reset.
type RoundTrip struct {
	http1.Options

	upstream  *Upstream
	request   *http.Request
	conn      *clientConn
	following afterfunc.Following
	// onEnd is the method value of cancel, kept when the memory is used again.
	onEnd func()
	out   head
	// length is how many bytes the request's body has: 0 for none, -1 for unknown; rest is how much of it has not been
	// read. whole says that it was read to its end.
	length, rest int64
	whole        bool
	// atHand is what has been read of it before the request was sent, in small or large; taken says that some was.
	taken  bool
	atHand []byte
	small  *headBuffer
	large  *buffer.Read
	upload *upload
	// sent says that the endpoint may have processed the request, shared that another goroutine than the caller's has
	// worked for the exchange.
	sent   bool
	shared bool
	// reads is how many reads the connection had when the request was sent, began the time.
	reads uint64
	began time.Duration
	// position is where its head ends in what the connection sends.
	position int64

	// mutex is held while the body is read or closed. ended says that the exchange has, and fault what reading says then.
	mutex sync.Mutex
	ended bool
	fault error
	// moving is what WriteTo is writing of the body.
	moving buffer.Body

	// The mutex of the connection guards what follows while the connection has the stream.

	id uint32
	// changed is signalled when something has come of the response, sendable when more of the request may be sent.
	changed, sendable sync.Cond
	// waking says that changed will be signalled.
	waking bool
	// interims are the informational responses that have come and were not handed over, hints how many have come in all,
	// and hintBytes how large they were; continued says that 100 was among them.
	interims         []interim
	hints, hintBytes int
	continued        bool
	// headed says that the head of the final response has come, bodiless that it has no body.
	headed, bodiless bool
	hopByHop         bool
	fields           []http1wire.Field
	recv             received
	// failure is why the response has ended before its end. stopped says that no more of the request is sent.
	failure error
	stopped bool
	// sendWindow is how much the endpoint accepts on the stream, sentEnd says that END_STREAM was sent.
	sendWindow int64
	sentEnd    bool
	timer      *time.Timer
	response   http.Response
}

// interim is an informational response.
type interim struct {
	status int
	header http.Header
}

// Reset makes the memory ready for another request. The exchange must have ended, and Alone be true.
func (rt *RoundTrip) Reset() { *rt = RoundTrip{onEnd: rt.onEnd, interims: rt.interims[:0]} }

// Sent reports whether the endpoint may have processed the request: it has got a part of it, and has not said that it
// did not process it (RFC 9113, section 8.7). It is for the time after Do.
func (rt *RoundTrip) Sent() bool { return rt.sent }

// Alone reports whether nothing of the exchange ever ran on another goroutine. It is for the time after its end.
func (rt *RoundTrip) Alone() bool { return !rt.shared }

// Fields returns the fields of the response in their order, without those that concern a connection, or nil where they
// are in the response's Header. It is for the time after Do.
func (rt *RoundTrip) Fields() []http1wire.Field { return rt.fields }

// HopByHop reports whether the response's header has fields that concern one connection only. It is for the time after
// Do.
func (rt *RoundTrip) HopByHop() bool { return rt.hopByHop }

// Do sends a request and returns the head of its final response. The body must be closed, or read to its end, which is
// when the exchange ends; until then it follows the request's context, whose end resets the stream. Do works on the
// goroutine of its caller; only a request body that is not at hand is sent by another one, which has ended when the
// exchange has (see [http1.Options]). The request's body is always closed, but with ErrNotHTTP2.
//
// A request of which nothing of the body is lost is sent again, over another connection where that is needed, when the
// endpoint says that it was not processed, or when the connection ends before anything came and the method is
// idempotent (RFC 9110 section 9.2.2).
//
// It differs from net/http's Transport in these points. It adds no field of its own, such as User-Agent or
// Accept-Encoding. CONNECT is refused.
func (u *Upstream) Do(rt *RoundTrip, r *http.Request) (*http.Response, error) {
	if rt.upstream != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errRoundTripUsed
	}
	rt.upstream, rt.request = u, r
	err := rt.run()
	rt.freeOut()
	if err != nil {
		clear(rt.Header)
		if err != ErrNotHTTP2 { //nolint:errorlint // as Config.Dial returns it
			rt.closeRequest()
		}
		return nil, err
	}
	return &rt.response, nil
}

// freeOut gives the memory of the request's head and body back.
func (rt *RoundTrip) freeOut() {
	if rt.out.buf != nil {
		rt.upstream.resources.pools.putHead(rt.out.buf)
	}
	rt.out.buf, rt.out.block = nil, nil
	if rt.upload == nil {
		rt.freeBody()
	}
}

// closeRequest closes the request's body, unless the upload does.
func (rt *RoundTrip) closeRequest() {
	if rt.upload == nil && rt.request.Body != nil {
		_ = rt.request.Body.Close() // The request has ended, and the error with it.
	}
}

func (rt *RoundTrip) run() error {
	ctx := rt.request.Context()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := rt.prepare(); err != nil {
		return &http1.RequestError{Err: err}
	}
	processed := false
	for tries := 1; ; tries++ {
		c, err := rt.upstream.reserve(ctx)
		if err != nil {
			rt.sent = processed
			if err == ErrNotHTTP2 && rt.taken { //nolint:errorlint // as Config.Dial returns it
				return errProtocol
			}
			return err
		}
		if rt.out.size > c.acceptedHead() {
			c.release()
			return &http1.RequestError{Err: errHeadTooLarge}
		}
		if tries == 1 {
			if err := rt.takeBody(); err != nil {
				c.release()
				return err
			}
		}
		if err = rt.try(c); err == nil {
			return nil
		}
		again := rt.repeatable(err)
		rt.sent = rt.sent && !unprocessed(err)
		processed = processed || rt.sent
		rt.sent = processed
		err = rt.reason(err)
		rt.end()
		if !again || tries == maxTries || ctx.Err() != nil {
			return err
		}
		rt.again()
	}
}

// acceptedHead returns how large a head may be.
func (c *clientConn) acceptedHead() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.maxHead
}

// again prepares another try.
func (rt *RoundTrip) again() {
	rt.ended, rt.fault, rt.failure, rt.stopped, rt.sentEnd = false, nil, nil, false, false
	rt.interims, rt.hints, rt.hintBytes, rt.continued = rt.interims[:0], 0, 0, false
	rt.recv = received{}
}

// try sends the request over a connection, which has reserved a stream, and waits for the head of the final response.
func (rt *RoundTrip) try(c *clientConn) error {
	if rt.onEnd == nil {
		rt.onEnd = rt.cancel
	}
	rt.conn = c
	rt.changed.L, rt.sendable.L = &c.mutex, &c.mutex
	rt.recv = received{exchange: rt, declared: -1, window: streamWindow}
	rt.began = c.upstream.clock()
	rt.following.Start(rt.request.Context(), rt.onEnd)
	c.mutex.Lock()
	c.reserved--
	// SETTINGS may have come since the stream was reserved.
	if c.life.err != nil || c.life.retired || rt.failure != nil || len(c.streams) >= c.limit {
		c.rest()
		c.mutex.Unlock()
		return errFull
	}
	rt.open()
	err := rt.await()
	if err != nil {
		// Informational may have failed. From here on the goroutine that reads leaves the exchange alone.
		c.reset(rt, wire.Cancel, err)
		c.out.start()
	}
	c.mutex.Unlock()
	if err != nil {
		return err
	}
	rt.accept()
	return nil
}

// open opens the stream and sends what is at hand of the request. The mutex of the connection is held.
func (rt *RoundTrip) open() {
	c := rt.conn
	rt.id = c.nextID
	if c.nextID += 2; c.nextID > wire.MaxStream {
		c.life.retired = true
	}
	c.streams[rt.id] = rt
	rt.sent, rt.reads = true, c.reads.Load()
	rt.sendHead()
	rt.position = c.out.position()
	rest := rt.atHand
	if rt.length != 0 && !rt.out.expects {
		if last := rt.whole && len(rt.request.Trailer) == 0; last || len(rest) > 0 {
			rest = rt.sendSome(rest, last)
		}
	}
	if rt.sentEnd {
		rt.endSent()
	} else {
		rt.shared = true
		rt.startUpload(rest)
	}
	c.out.flush()
}

// await waits for the head of the response, and hands over the informational ones before it. The mutex of the
// connection is held, but for waits and calls.
func (rt *RoundTrip) await() error {
	for {
		switch {
		case len(rt.interims) > 0:
			waiting := rt.interims
			rt.interims = nil
			rt.conn.mutex.Unlock()
			err := rt.inform(waiting)
			rt.conn.mutex.Lock()
			if err != nil {
				return err
			}
		case rt.headed:
			return nil
		case rt.failure != nil:
			return rt.failure
		default:
			rt.changed.Wait()
		}
	}
}

func (rt *RoundTrip) inform(interims []interim) error {
	if rt.Informational == nil {
		return nil
	}
	for _, one := range interims {
		if err := rt.Informational(one.status, one.header); err != nil {
			return err
		}
	}
	return nil
}

// accept completes the response of its head.
func (rt *RoundTrip) accept() {
	c, r := rt.conn, &rt.response
	c.mutex.Lock()
	complete := rt.recv.ended && rt.recv.came.Empty()
	c.mutex.Unlock()
	if rt.upload == nil {
		rt.closeRequest()
	}
	if rt.hints > 0 && rt.Header != nil && r.Header != nil {
		maps.Copy(rt.Header, r.Header)
		r.Header = rt.Header
	}
	r.Status = strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode)
	if r.StatusCode == http.StatusOK {
		r.Status = "200 OK"
	}
	r.Proto, r.ProtoMajor, r.Request, r.TLS = "HTTP/2.0", 2, rt.request, c.secure
	if r.ContentLength < 0 && complete && !rt.bodiless || rt.bodiless && rt.request.Method != http.MethodHead {
		r.ContentLength = 0
	}
	if !complete {
		r.Body = (*responseBody)(rt)
		return
	}
	r.Body = http.NoBody
	_ = rt.finish(io.EOF) // It is the end.
}

// fail ends the exchange for the connection: nothing more is sent or comes. The mutex of the connection is held.
func (rt *RoundTrip) fail(err error) {
	rt.stopped = true
	if rt.failure == nil && !rt.recv.ended {
		rt.failure = err
	}
	rt.changed.Signal()
	rt.sendable.Signal()
}

// endOf notes the end of the response, with trailers. The mutex of the connection is held.
func (rt *RoundTrip) endOf(trailers []http1wire.Field) *wire.Error {
	b := &rt.recv
	if b.declared > 0 {
		return wire.StreamFault(rt.id, wire.ProtocolError, "a body shorter than content-length (section 8.1.1)")
	}
	if len(trailers) > 0 {
		b.trailers = headerOf(trailers, nil)
		for name := range b.trailers {
			if http1wire.ForbiddenTrailer(name) {
				delete(b.trailers, name)
			}
		}
	}
	b.ended = true
	rt.conn.stir(rt)
	if rt.sentEnd {
		rt.conn.forget(rt)
	}
	return nil
}

// stir has a request go on once all that was read has been handled. The mutex is held.
func (c *clientConn) stir(rt *RoundTrip) {
	if !rt.waking {
		rt.waking = true
		c.woken = append(c.woken, rt)
	}
}

// cancel ends the exchange with its context.
func (rt *RoundTrip) cancel() { rt.interrupt(context.Cause(rt.request.Context())) }

// interrupt ends the exchange from another goroutine than the caller's.
func (rt *RoundTrip) interrupt(err error) {
	c := rt.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.streams[rt.id] == rt {
		c.doubt(rt)
		c.reset(rt, wire.Cancel, err)
		c.out.start()
		return
	}
	rt.fail(err)
}

// reason returns why the exchange has failed: the end of the context and the client's body are better reasons than what
// the connection said.
func (rt *RoundTrip) reason(err error) error {
	if rt.upload != nil {
		if source := rt.upload.source.Load(); source != nil {
			return source
		}
	}
	if ended := context.Cause(rt.request.Context()); ended != nil {
		return ended
	}
	if rt.upstream.over() {
		return errUpstreamClosed
	}
	if lost, ok := err.(*lostError); ok && !rt.headed && lost.err == io.ErrUnexpectedEOF { //nolint:errorlint // as read
		return errServerClosed
	}
	return err
}

// end ends the exchange, and everything that works for it.
func (rt *RoundTrip) end() {
	if rt.ended {
		return
	}
	rt.ended = true
	if !rt.following.Stop() {
		rt.shared = true
	}
	c := rt.conn
	c.mutex.Lock()
	if rt.timer != nil {
		rt.timer.Stop()
	}
	rt.stopped = true
	if c.streams[rt.id] == rt {
		c.reset(rt, wire.Cancel, errFinished)
		c.out.start()
	}
	rt.sendable.Signal()
	c.unwake(rt)
	rt.recv.release()
	c.mutex.Unlock()
	rt.join()
}

// join waits for the end of the upload. What of the body has not come is waited for no longer.
func (rt *RoundTrip) join() {
	u := rt.upload
	if u == nil {
		return
	}
	select {
	case <-u.done:
	default:
		switch {
		case u.last.Load():
			<-u.done
		case rt.Interrupt == nil:
			// Bodies that block in Read return when they are closed, if they can be at all.
			go u.close()
			return
		case rt.Interrupt():
			<-u.done
		default:
			return
		}
	}
	rt.freeBody()
}
