package http1

import (
	"io"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// atOnceBytes is the largest piece that is written before anything is read where a write can't be kept from
	// waiting. Every connection takes that much, whether the endpoint reads or not.
	atOnceBytes = 8 << 10
	// lastWords is how long the response may take of an endpoint that has stopped reading.
	lastWords = time.Second
)

// prepareBody takes into out what can be read of a body with a length without waiting: all of it, if it is small and
// has come.
func (c *RoundTrip) prepareBody() error {
	body := c.request.Body
	now, ok := body.(httpio.ReadyReader)
	// NewRequest sets GetBody for bodies that are in memory.
	if c.framing.long || c.framing.rest <= 0 || !ok && c.request.GetBody == nil {
		return nil
	}
	c.makeRoom()
	for c.framing.rest > 0 && len(c.out) < cap(c.out) {
		var n int
		var err error
		free := c.out[len(c.out):min(int64(cap(c.out)), int64(len(c.out))+c.framing.rest)]
		if ok {
			n, err = now.ReadNow(free)
		} else {
			n, err = body.Read(free)
		}
		c.out = c.out[:len(c.out)+n]
		c.framing.rest -= int64(n)
		switch {
		case c.framing.rest == 0:
			c.whole = true
		case err == io.EOF: //nolint:errorlint // io.EOF is never wrapped
			return &RequestBodyError{Err: errBodyShort}
		case err != nil:
			return &RequestBodyError{Err: err}
		case n == 0:
			return nil
		}
	}
	return nil
}

// makeRoom moves out to a larger buffer when the body does not fit behind the head.
func (c *RoundTrip) makeRoom() {
	if size := int64(len(c.out)) + c.framing.rest; size > int64(cap(c.out)) && len(c.out) < copyBytes {
		c.medium = c.upstream.client.buffers.medium()
		c.out = append(c.medium[:0], c.out...)
	}
}

// send writes what is at hand of the request. What would have to be waited for is left to another goroutine, so that
// the response is read whatever the endpoint does first.
func (c *RoundTrip) send() error {
	if c.framing.long {
		c.startUpload(nil)
		return nil
	}
	l := c.cc
	var n int
	var err error
	switch {
	case l.tcp != nil && l.probe != nil:
		n, err = l.probe.writeNow(c.out)
	case len(c.out) <= atOnceBytes:
		n, err = l.conn.Write(c.out)
	}
	c.sent = c.sent || n > 0
	rest := c.out[n:]
	switch {
	case err != nil && n == 0:
		return err
	case err != nil:
		// The endpoint may have answered before it closed the connection.
		c.broken = err
		c.limit(lastWords)
	case len(rest) == 0 && c.whole:
		if c.framing.length == 0 {
			// A head can be made again.
			c.freeOut()
		}
		c.closeRequest()
		c.wrote(nil)
		c.limit(c.upstream.config.ResponseHeaderTimeout)
	case len(rest) == 0 && c.framing.expects:
		c.limit(c.upstream.config.ContinueTimeout)
	default:
		c.framing.expects = false
		c.startUpload(rest)
	}
	return nil
}

// limit bounds the time until the response's head is there; 0 does not. Once it is there, limit does nothing.
func (c *RoundTrip) limit(wait time.Duration) {
	if wait <= 0 {
		return
	}
	c.hold.Lock()
	defer c.hold.Unlock()
	if c.headed || c.cc == nil {
		return
	}
	c.limited = true
	// A connection that takes no deadline is closed, which reading finds out.
	_ = c.cc.conn.SetReadDeadline(time.Now().Add(wait))
}

// unlimit takes the bound on the time back, for good when the head is there.
func (c *RoundTrip) unlimit(headed bool) {
	c.hold.Lock()
	defer c.hold.Unlock()
	c.headed = headed
	if c.limited {
		c.limited = false
		_ = c.cc.conn.SetReadDeadline(time.Time{})
	}
}
