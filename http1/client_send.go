package http1

import (
	"io"
	"time"
)

const (
	// inlineBytes is the largest body that is sent in one piece with the head, if it is at hand.
	inlineBytes = 24 << 10
	// atOnceBytes is the largest piece that is written before anything is read where a write can't be kept from
	// waiting. Every connection takes that much, whether the endpoint reads or not.
	atOnceBytes = 8 << 10
	// lastWords is how long the response may take of an endpoint that has stopped reading.
	lastWords = time.Second
)

// readAhead is what a request's body may have to say how many bytes of it can be read without waiting.
type readAhead interface {
	Buffered() int
}

// prepareBody takes the body into out when all of it can be read without waiting.
func (c *Call) prepareBody() error {
	n := c.framing.length
	if n <= 0 || n > inlineBytes || !c.atHand(int(n)) {
		return nil
	}
	head := len(c.out)
	switch size := head + int(n); {
	case size <= cap(c.out):
	case size > copyBytes:
		return nil
	default:
		c.expanse = c.upstream.client.buffers.expanse()
		c.out = append(c.expanse[:0], c.out...)
	}
	c.out = c.out[:head+int(n)]
	_, err := io.ReadFull(c.request.Body, c.out[head:])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errBodyShort
	}
	if err != nil {
		return &RequestBodyError{Err: err}
	}
	c.whole = true
	return nil
}

// atHand reports whether n bytes of the body can be read without waiting.
func (c *Call) atHand(n int) bool {
	if body, ok := c.request.Body.(readAhead); ok {
		return body.Buffered() >= n
	}
	// NewRequest sets it for bodies that are in memory.
	return c.request.GetBody != nil
}

// send writes what is at hand of the request. What would have to be waited for is left to another goroutine, so that the
// response is read whatever the endpoint does first.
func (c *Call) send() error {
	l := c.link
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
func (c *Call) limit(wait time.Duration) {
	if wait <= 0 {
		return
	}
	c.hold.Lock()
	defer c.hold.Unlock()
	if c.headed || c.link == nil {
		return
	}
	c.limited = true
	// A connection that takes no deadline is closed, which reading finds out.
	_ = c.link.conn.SetReadDeadline(time.Now().Add(wait))
}

// unlimit takes the bound on the time back, for good when the head is there.
func (c *Call) unlimit(headed bool) {
	c.hold.Lock()
	defer c.hold.Unlock()
	c.headed = headed
	if c.limited {
		c.limited = false
		_ = c.link.conn.SetReadDeadline(time.Time{})
	}
}
