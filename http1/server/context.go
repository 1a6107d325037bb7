package server

import (
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio/afterfunc"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

// requestContext is the context of a request. Where the system does not report that a client has left, the connection
// is read ahead once the end of the context is waited for.
type requestContext struct {
	serving.Context

	conn *serverConn
	// exchange may be another request's when the context is no longer that of the connection.
	exchange *exchange
	// whole says that nothing more is to come of the request's body.
	whole atomic.Bool
}

// Done is closed when the client has left or the handler has returned.
func (s *requestContext) Done() <-chan struct{} {
	s.readAheadForEnd()
	return s.Context.Done()
}

// Value returns what the context of the request holds.
func (s *requestContext) Value(key any) any {
	if key == (afterfunc.Key{}) {
		return s
	}
	return s.Context.Value(key)
}

// AfterFunc calls f in a goroutine of its own after the end of the context, unless stop is called before.
func (s *requestContext) AfterFunc(f func()) (stop func() bool) {
	s.readAheadForEnd()
	return s.Context.AfterFunc(f)
}

// AddCall is AfterFunc for a call whose memory is the caller's.
func (s *requestContext) AddCall(call *afterfunc.Call) {
	s.readAheadForEnd()
	s.Context.AddCall(call)
}

// bodyOver notes that nothing more is to come of the body, after which a client that has closed its side has left.
func (s *requestContext) bodyOver() {
	s.whole.Store(true)
	if s.conn.left.Load() != clientStays {
		s.Cancel()
	}
}

var _ afterfunc.Context = (*requestContext)(nil)
