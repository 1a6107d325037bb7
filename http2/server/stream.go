package server

import (
	"errors"
	"time"

	"github.com/sluiceproxy/sluice/http2/wire"
)

var (
	// errGone is a client that has left, errAborted a handler that has given up.
	errGone    = errors.New("http2: the client has closed the connection")
	errAborted = errors.New("http2: the handler has ended the stream")
)

// resetError is a stream that the client has reset.
type resetError struct{ code wire.Code }

// Error names the code.
func (e *resetError) Error() string {
	return "http2: the client has reset the stream: " + e.code.String()
}

// abort ends a stream: all calls that wait return, and its context ends. The mutex is
// held.
func (x *exchange) abort(err error) {
	if x.failure == nil {
		x.failure = err
	}
	x.sent = true
	x.body.failLocked(err)
	x.sendable.Broadcast()
	if !x.hijacked { // Its owner is told by Read and Write, as that of a connection is.
		x.context.Cancel()
	}
}

// resetStream ends a stream with RST_STREAM, unless it has ended. The mutex is held.
func (c *serverConn) resetStream(x *exchange, code wire.Code, err error) {
	if c.streams[x.id] != x {
		return
	}
	c.sendReset(x.id, code)
	x.abort(err)
	c.forget(x)
}

// sendReset sends RST_STREAM. The mutex is held.
func (c *serverConn) sendReset(id uint32, code wire.Code) {
	c.out.set(wire.AppendReset(c.out.room(), id, code))
	c.reset.add(id)
}

// releaseAfter is how long a connection without TLS has no stream before the buffer is given back into which it is
// read.
const releaseAfter = 2 * time.Second

// forget takes a stream that has ended off the list. The mutex is held.
func (c *serverConn) forget(x *exchange) {
	if c.streams[x.id] != x {
		return
	}
	delete(c.streams, x.id)
	x.body.discard()
	if len(c.streams) > 0 {
		return
	}
	c.idle = time.Now()
	c.endIfDone()
	wait := pingAfter
	if timeout := c.server.IdleTimeout; timeout > 0 {
		wait = min(wait, timeout)
	}
	if c.secure == nil {
		wait = min(wait, releaseAfter)
	}
	_ = c.arm(c.idle.Sub(c.start), wait) // A connection that is broken is noticed by reading.
}
