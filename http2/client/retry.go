package client

import http1wire "github.com/sluiceproxy/sluice/http1/wire"

// repeatable reports whether the request can be sent again after a failure of the connection or the stream.
func (rt *RoundTrip) repeatable(err error) bool {
	if rt.upload != nil || rt.headed || rt.hints > 0 {
		return false
	}
	if unprocessed(err) {
		return true
	}
	_, lost := err.(*lostError) //nolint:errorlint // as fail gets it
	return lost && http1wire.Idempotent(rt.request.Method) && rt.conn.idleBefore(rt)
}

// idleBefore reports whether the connection was used before, and nothing has come since the request was sent: it may
// have been closed already.
func (c *clientConn) idleBefore(rt *RoundTrip) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.used && c.reads.Load() == rt.reads
}
