package http1

import (
	"context"
	"time"
)

// lastWrite is how long a response that has ended waits for the last write of its request to return, which is on its
// way when the endpoint has the whole request.
const lastWrite = 50 * time.Millisecond

// fail ends the exchange with an error, for which the end of the context, the client's body and the write that failed
// first are better reasons than what reading said.
func (c *RoundTrip) fail(err error) {
	c.reusable = false
	var source *RequestBodyError
	if c.upload != nil {
		source = c.upload.source.Load()
	}
	// What the end of the exchange does to the client must not be taken for its cause.
	ended := context.Cause(c.request.Context())
	c.end()
	switch {
	case source != nil:
		c.fault = source
	case ended != nil:
		c.fault = ended
	case c.upstream.over():
		c.fault = errUpstreamClosed
	case c.broken != nil:
		c.fault = c.broken
	default:
		c.fault = err
	}
}

// end gives the connection back, or closes it, and sees to it that nothing of the exchange goes on.
func (c *RoundTrip) end() {
	if c.ended {
		return
	}
	c.ended = true
	complete := c.join()
	followed := c.following.stop()
	c.hold.Lock()
	l := c.cc
	c.cc = nil
	c.hold.Unlock()
	l.waiting = nil
	if c.reusable && complete && followed && l.from == l.to && !c.closing.Load() {
		c.upstream.put(l)
		return
	}
	l.close()
}

// join waits for the end of the upload, which it brings about where the endpoint does not want the rest. It reports
// whether the whole request was sent.
func (c *RoundTrip) join() (complete bool) {
	u := c.upload
	if u == nil {
		return c.whole && c.broken == nil
	}
	if u.ended(0) || c.reusable && u.last.Load() && u.ended(lastWrite) {
		return u.complete
	}
	c.cc.abort()
	if u.head != nil {
		// It is read from the request's header, which the caller may change afterwards.
		<-u.head
	}
	switch {
	case !u.last.Load() && c.Interrupt == nil:
		// Bodies that block in Read return when they are closed, if they can be at all.
		go u.close()
	case u.last.Load() || c.Interrupt():
		<-u.done
	}
	return false
}
