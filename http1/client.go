package http1

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// RoundTrip is one request and its response as its caller sees them. It is made for one exchange, best as a part of
// what the caller has of its own per request, and is never used again: the response and its body are parts of it.
type RoundTrip struct {
	// Informational gets each informational response but 101, on the goroutine that called Do and before Do
	// returns. The header is the callee's. An error ends the exchange and is what Do returns.
	Informational func(status int, header http.Header) error
	// Interrupt makes a Read of the request's body return that waits for the client, and all that follow, and returns
	// true. It is called when the response has ended, or the exchange has failed, before the body was read to its end.
	// With it, nothing of the exchange runs any more once the response's body has ended or was closed; without, and
	// where it returns false, a Read that waits may outlast it, as with net/http.
	Interrupt func() bool
	// EndToEnd leaves out the fields of the request that concern one connection only (RFC 9110 section 7.6.1), except
	// that TE asks for trailers where it did. It is for requests without Connection, which may name others.
	EndToEnd bool
	// Replace is sent in place of all fields of that name in the request's header, unless it has no name.
	Replace Field
	// Line is sent as it stands behind the request's fields, unless it is empty: whole lines of fields which the
	// request does not have, with their ends, that a header may hold.
	Line []byte
	// Header is an empty map for the fields of the final response, unless that is 101; nil lets Do make one. It is
	// empty after an error.
	Header http.Header
	// List is empty room for the fields of the final response. Where it is given, and nothing but to leave them out is
	// asked for by fields that concern one connection only, the others are in Fields, and the response's Header is nil.
	List []Field
	// Values is room for the values of the response's fields, which must live as long as its header; Do makes more
	// where it is too small.
	Values []string

	upstream  *Upstream
	request   *http.Request
	trace     *httptrace.ClientTrace
	following following
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
	fields   []Field
	// fault is what reading the body says once the exchange has ended.
	fault    error
	body     wire.Framing
	left     int64
	chunked  wire.Chunked
	encoding [1]string
	response http.Response
}

// Field is one field of a head.
type Field = wire.Field

// Sent reports whether the endpoint may have seen a part of the request. A part of its body may have been read in any
// case. It is for the time after Do.
func (c *RoundTrip) Sent() bool { return c.sent }

// Alone reports whether nothing of the exchange ever ran on another goroutine. It is for the time after its end.
func (c *RoundTrip) Alone() bool { return c.upload == nil }

// Fields returns the fields of the response in their order, without those that concern one connection only, or nil
// where they are in the response's Header. It is for the time after Do.
func (c *RoundTrip) Fields() []Field { return c.fields }

// HopByHop reports whether the response's header has fields that concern one connection only. It is for the time after
// Do.
func (c *RoundTrip) HopByHop() bool { return c.hopByHop }

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
// It differs from net/http's Transport in these points. It adds no field that was not asked for, such as User-Agent.
// Upgrade to h2c is left out (RFC 9113 section 3.1). CONNECT is refused. Responses that have more than one reading are
// errors (package wire); 101 is one for a request that asked for no other protocol. A connection whose response began
// before the request was sent completely is not used again (CVE-2024-24791).
func (u *Upstream) Do(c *RoundTrip, r *http.Request) (*http.Response, error) {
	if c.upstream != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errRoundTripUsed
	}
	c.upstream, c.request = u, r
	if err := c.run(); err != nil {
		c.freeOut()
		clear(c.Header)
		if err != ErrHTTP2 { //nolint:errorlint // as dial returns it
			c.closeRequest()
		}
		return nil, err
	}
	return &c.response, nil
}

// closeRequest closes the request's body, unless the upload does.
func (c *RoundTrip) closeRequest() {
	if c.upload == nil && !c.closed && c.request.Body != nil {
		c.closed = true
		// The request has ended, and the error with it.
		_ = c.request.Body.Close()
	}
}

func (c *RoundTrip) run() error {
	ctx := c.request.Context()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.prepare(); err != nil {
		return &RequestError{Err: err}
	}
	l, err := c.upstream.connection(ctx)
	if err != nil {
		return err
	}
	if err = c.first(l); err == nil {
		return nil
	}
	again := c.repeatable(l, err) && ctx.Err() == nil
	c.fail(err)
	if !again {
		return c.fault
	}
	c.ended, c.fault, c.interims, c.broken = false, nil, 0, nil
	if c.out == nil {
		// It went with an upload, or was written and given back.
		c.upload = nil
		if err = c.prepare(); err != nil {
			return &RequestError{Err: err}
		}
	}
	switch l, err = c.upstream.dial(ctx); {
	case err == ErrHTTP2 && (c.sent || c.framing.rest != c.framing.length): //nolint:errorlint // as dial returns it
		return errChanged
	case err != nil:
		return err
	}
	if err = c.try(l); err != nil {
		c.fail(err)
		return c.fault
	}
	return nil
}

// first sends the request over the first connection. Only now is the body touched: until there is a connection,
// the request may still be sent in another way.
func (c *RoundTrip) first(l *clientConn) error {
	c.cc = l
	if !c.framing.expects {
		if err := c.prepareBody(); err != nil {
			return err
		}
	}
	return c.try(l)
}

// prepare writes the head of the request.
func (c *RoundTrip) prepare() error {
	c.small = c.upstream.client.buffers.small()
	var err error
	c.out, c.framing, err = c.appendRequest(c.small[:0], c.request, nil)
	if err != nil {
		return err
	}
	if c.framing.long {
		c.freeOut()
		c.out = []byte{}
	}
	if c.upstream.config.ContinueTimeout <= 0 || c.framing.long {
		c.framing.expects = false
	}
	c.whole = c.framing.length == 0 && !c.framing.long
	return nil
}

func (c *RoundTrip) freeOut() {
	c.upstream.client.buffers.putSmall(c.small)
	c.upstream.client.buffers.putMedium(c.medium)
	c.small, c.medium, c.out = nil, nil, nil
}

// try sends the request over a connection and reads the head of the final response.
func (c *RoundTrip) try(l *clientConn) error {
	c.cc = l
	c.following.start(c.request.Context(), l.abort)
	c.gotConn(l)
	if err := c.send(); err != nil {
		return err
	}
	l.yield()
	var head wire.Response
	if err := c.receive(&head); err != nil {
		return err
	}
	return c.accept(&head)
}

// repeatable reports whether the request can be sent again after a failure: nothing of it can have been processed, or
// it makes no difference. What has been read of the body is in out.
func (c *RoundTrip) repeatable(l *clientConn, err error) bool {
	if _, client := errors.AsType[*RequestBodyError](err); client {
		return false
	}
	bodiless := c.framing.length == 0
	return l.reused && !c.received && (c.upload == nil || bodiless) && !isTimeout(err) &&
		(!c.sent || idempotent(c.request.Method))
}

func idempotent(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}
