package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio/afterfunc"
)

// Options are what the caller of a request says beyond the request itself.
type Options struct {
	// Informational gets each informational response but 101, on the goroutine that called Do and before Do
	// returns. The header is the callee's. An error ends the exchange and is what Do returns.
	Informational func(status int, header http.Header) error
	// Interrupt makes a Read of the request's body return that waits for the client, and all that follow, and returns
	// true. It is called when the response has ended, or the exchange has failed, before the body was read to its end.
	// With it, nothing of the exchange runs any more once the response's body has ended or was closed; without, and
	// where it returns false, a Read that waits may outlast it, as with net/http.
	Interrupt func() bool
	// EndToEnd leaves out the fields of the request that concern one connection only (RFC 9110 section 7.6.1), except
	// that "TE: trailers" is kept. It is for requests without Connection, which may name others.
	EndToEnd bool
	// Replace is sent in place of all fields of that name in the request's header, unless it has no name.
	Replace wire.Field
	// Line is sent as it stands behind the request's fields, unless it is empty: whole lines of fields which the
	// request does not have, with their ends, that a header may hold.
	Line []byte
	// Header is an empty map for the fields of the final response, unless that is 101; nil lets Do make one. It is
	// empty after an error.
	Header http.Header
	// List is empty room for the fields of the final response. Where it is given, and the fields that concern one
	// connection need no more than to be left out, the others are in Fields, and the response's Header is nil.
	List []wire.Field
	// Values is room for the values of the response's fields, which must live as long as its header; Do makes more
	// where it is too small.
	Values []string
}

// RoundTrip is one request and its response as its caller sees them. It is made for one exchange, best as a part of
// what the caller has of its own per request, and is never used again: the response and its body are parts of it.
type RoundTrip struct {
	Options

	upstream  *Upstream
	request   *http.Request
	trace     *httptrace.ClientTrace
	following afterfunc.Following
	upload    *upload
	// out is the part of the request that is ready to be written: the head and perhaps the whole body. Its memory is
	// that of smallBuf or mediumBuf, unless the head has outgrown it.
	out     []byte
	small   *smallBuf
	medium  *mediumBuf
	framing requestFraming
	// whole says that out holds the whole request.
	whole bool
	// closed says that the request's body was closed.
	closed   bool
	sent     bool
	received bool
	interims int
	// broken is why the request could not be written to its end.
	broken error

	// hold guards what other goroutines than the exchange's own use: the connection on its way out, and the
	// deadline.
	hold sync.Mutex
	cc   *clientConn
	// limited says that a read deadline is set, headed that the response's head is there.
	limited, headed bool

	// mutex is held while the body is read, written or closed.
	mutex sync.Mutex
	// closing says that the response's body is being closed.
	closing  atomic.Bool
	ended    bool
	reusable bool
	hopByHop bool
	fields   []wire.Field
	// fault is what reading the body says once the exchange has ended.
	fault    error
	body     wire.Framing
	left     int64
	chunked  wire.Chunked
	encoding [1]string
	response http.Response
}

// Sent reports whether the endpoint may have seen a part of the request. A part of its body may have been read in any
// case. It is for the time after Do.
func (rt *RoundTrip) Sent() bool { return rt.sent }

// Alone reports whether nothing of the exchange ever ran on another goroutine. It is for the time after its end.
func (rt *RoundTrip) Alone() bool { return rt.upload == nil }

// Fields returns the fields of the response in their order, without those that concern one connection only, or nil
// where they are in the response's Header. It is for the time after Do.
func (rt *RoundTrip) Fields() []wire.Field { return rt.fields }

// HopByHop reports whether the response's header has fields that concern one connection only. It is for the time after
// Do.
func (rt *RoundTrip) HopByHop() bool { return rt.hopByHop }

// Do sends a request and returns the head of its final response. The body must be closed, or read to its end, which is
// when the exchange ends; until then it follows the request's context, whose end closes the connection at once. Do
// works on the goroutine of its caller; only a request body that is not at hand is sent by another one, which has ended
// when the exchange has (see RoundTrip.Interrupt). The request's body is always closed, but with ErrHTTP2, where it is
// untouched.
//
// A request is sent again, on a fresh connection, when it was sent on one that had been used before, nothing of a
// response came, nothing of its body is lost, and either no byte was written or the method is idempotent (RFC 9110
// section 9.2.2).
//
// It differs from net/http's Transport in these points. It adds no field of its own, such as User-Agent.
// Upgrade to h2c is left out (RFC 9113 section 3.1). CONNECT is refused. Responses that have more than one reading are
// errors (package wire); 101 is one for a request without Upgrade. A connection whose response began
// before the request was sent completely is not used again (CVE-2024-24791).
func (u *Upstream) Do(rt *RoundTrip, r *http.Request) (*http.Response, error) {
	if rt.upstream != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errRoundTripUsed
	}
	rt.upstream, rt.request = u, r
	if err := rt.run(); err != nil {
		rt.freeOut()
		clear(rt.Header)
		if err != ErrHTTP2 { //nolint:errorlint // as dial returns it
			rt.closeRequest()
		}
		return nil, err
	}
	return &rt.response, nil
}

// closeRequest closes the request's body, unless the upload does.
func (rt *RoundTrip) closeRequest() {
	if rt.upload == nil && !rt.closed && rt.request.Body != nil {
		rt.closed = true
		// The request has ended, and the error with it.
		_ = rt.request.Body.Close()
	}
}

func (rt *RoundTrip) run() error {
	ctx := rt.request.Context()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := rt.prepare(); err != nil {
		return &RequestError{Err: err}
	}
	var err error
	cc := rt.upstream.take()
	if cc == nil {
		if cc, err = rt.upstream.dial(ctx); err != nil {
			return err
		}
	}
	rt.cc = cc
	if f := &rt.framing; f.rest > 0 && !f.long && !f.expects {
		// Only now is the body touched: until there is a connection, the request may still be sent in another way.
		err = rt.prepareBody()
	}
	if err == nil {
		err = rt.try(cc)
	}
	if err == nil {
		return nil
	}
	again := rt.repeatable(cc, err) && ctx.Err() == nil
	rt.fail(err)
	if !again {
		return rt.fault
	}
	rt.ended, rt.fault, rt.interims, rt.broken = false, nil, 0, nil
	if rt.out == nil {
		// It went with an upload, or was written and given back.
		rt.upload = nil
		if err = rt.prepare(); err != nil {
			return &RequestError{Err: err}
		}
	}
	switch cc, err = rt.upstream.dial(ctx); {
	case err == ErrHTTP2 && (rt.sent || rt.framing.rest != rt.framing.length): //nolint:errorlint // as dial returns it
		return errChanged
	case err != nil:
		return err
	}
	if err = rt.try(cc); err != nil {
		rt.fail(err)
		return rt.fault
	}
	return nil
}

// prepare writes the head of the request.
func (rt *RoundTrip) prepare() error {
	rt.small = rt.upstream.resources.buffers.small()
	var err error
	rt.out, rt.framing, err = rt.appendRequest(rt.small[:0], rt.request, nil)
	if err != nil {
		return err
	}
	if rt.framing.long {
		rt.freeOut()
		rt.out = []byte{}
	}
	if rt.upstream.config.ContinueTimeout <= 0 || rt.framing.long {
		rt.framing.expects = false
	}
	rt.whole = rt.framing.length == 0 && !rt.framing.long
	return nil
}

func (rt *RoundTrip) freeOut() {
	rt.upstream.resources.buffers.putSmall(rt.small)
	rt.upstream.resources.buffers.putMedium(rt.medium)
	rt.small, rt.medium, rt.out = nil, nil, nil
}

// try sends the request over a connection and reads the head of the final response.
func (rt *RoundTrip) try(cc *clientConn) error {
	rt.cc = cc
	rt.following.Start(rt.request.Context(), cc.abort)
	rt.gotConn(cc)
	if err := rt.send(); err != nil {
		return err
	}
	cc.yield()
	var head wire.Response
	if err := rt.receive(&head); err != nil {
		return err
	}
	return rt.accept(&head)
}

// repeatable reports whether the request can be sent again after a failure: nothing of it can have been processed, or
// it makes no difference. What has been read of the body is in out.
func (rt *RoundTrip) repeatable(cc *clientConn, err error) bool {
	if _, client := errors.AsType[*RequestBodyError](err); client {
		return false
	}
	bodiless := rt.framing.length == 0
	return cc.reused && !rt.received && (rt.upload == nil || bodiless) && !isTimeout(err) &&
		(!rt.sent || wire.Idempotent(rt.request.Method))
}

// lastWrite is how long a response that has ended waits for the last write of its request to return, which is on its
// way when the endpoint has the whole request.
const lastWrite = 50 * time.Millisecond

// fail ends the exchange with an error, for which the end of the context, the client's body and the write that failed
// first are better reasons than what reading said.
func (rt *RoundTrip) fail(err error) {
	rt.reusable = false
	var source *RequestBodyError
	if rt.upload != nil {
		source = rt.upload.source.Load()
	}
	// What the end of the exchange does to the client must not be taken for its cause.
	ended := context.Cause(rt.request.Context())
	rt.end()
	switch {
	case source != nil:
		rt.fault = source
	case ended != nil:
		rt.fault = ended
	case rt.upstream.over():
		rt.fault = errUpstreamClosed
	case rt.broken != nil:
		rt.fault = rt.broken
	default:
		rt.fault = err
	}
}

// end returns the connection to the pool, or closes it, and ends everything of the exchange.
func (rt *RoundTrip) end() {
	if rt.ended {
		return
	}
	rt.ended = true
	complete := rt.whole && rt.broken == nil
	if rt.upload != nil {
		complete = rt.join()
	}
	followed := rt.following.Stop()
	rt.hold.Lock()
	cc := rt.cc
	rt.cc = nil
	rt.hold.Unlock()
	cc.waiting = nil
	if rt.reusable && complete && followed && cc.from == cc.to && !rt.closing.Load() {
		rt.upstream.put(cc)
		return
	}
	cc.close()
}

// join waits for the end of the upload, which it stops where the endpoint does not read the rest. It reports
// whether the whole request was sent.
func (rt *RoundTrip) join() (complete bool) {
	u := rt.upload
	if u.ended(0) || rt.reusable && u.last.Load() && u.ended(lastWrite) {
		return u.complete
	}
	rt.cc.abort()
	if u.head != nil {
		// It is read from the request's header, which the caller may change afterwards.
		<-u.head
	}
	switch {
	case !u.last.Load() && rt.Interrupt == nil:
		// Bodies that block in Read return when they are closed, if they can be at all.
		go u.close()
	case u.last.Load() || rt.Interrupt():
		<-u.done
	}
	return false
}
