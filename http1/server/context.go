package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/internal/afterfunc"
)

// requestContext is the context of a request. It needs no goroutine: cancel calls the functions of AfterFunc,
// and the channel of Done is made by the first call of Done.
//
// It is made for one request even where the exchange is recycled, so that a late call ends no other request.
type requestContext struct {
	conn *serverConn
	// exchange may be another request's when the context is no longer that of the connection.
	exchange *exchange
	values   atomic.Pointer[RequestState]
	mutex    sync.Mutex
	// whole says that nothing more is to come of the request's body, over that the context has ended.
	whole atomic.Bool
	over  bool
	done  chan struct{}
	calls afterfunc.Calls
}

// Deadline returns that of the context of the connection.
func (s *requestContext) Deadline() (time.Time, bool) { return s.conn.base.Deadline() }

// Done is closed when the client has left or the handler has returned.
func (s *requestContext) Done() <-chan struct{} {
	s.readAheadForEnd()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.done == nil {
		s.done = make(chan struct{})
		if s.over {
			close(s.done)
		}
	}
	return s.done
}

// Err says why Done is closed.
func (s *requestContext) Err() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		return context.Canceled
	}
	return nil
}

// RequestState is what a handler keeps for a request.
type RequestState interface {
	// Value returns what the context of the request holds beyond that of its connection, or nil.
	Value(key any) any
	// Completed is called once, after the handler has returned and the last byte of the response has been written, or
	// could not be. It runs on the goroutine of the connection, whose next request waits for it.
	Completed(end Completion)
}

// Completion is how a response has ended.
type Completion struct {
	// Status is the final status, which is 101 for a connection that was hijacked without one. It is 0 if the handler
	// gave up before it had set one, or if writing failed before a byte of the head was written.
	Status int
	// Header is the header as the handler has left it, nil for hijacked connections.
	Header http.Header
	// Sent is how many bytes of the body were written.
	Sent int64
	// Err is why writing has failed, or nil. Of a call that the handler has left behind it is not known.
	Err error
	// Recycled reports whether the memory of the exchange serves another request, as Recycle allows.
	Recycled bool
}

// Value returns the address that the client connected to under http.LocalAddrContextKey, and otherwise what was
// attached while the handler runs or what the context of the connection holds.
func (s *requestContext) Value(key any) any {
	switch key {
	case http.LocalAddrContextKey:
		return s.conn.local
	case afterfunc.Key{}:
		return s
	}
	if values := s.values.Load(); values != nil {
		if value := (*values).Value(key); value != nil {
			return value
		}
	}
	return s.conn.base.Value(key)
}

// AfterFunc calls f in a goroutine of its own after the end of the context, unless stop is called before.
// [context.AfterFunc] and contexts that are derived use it.
func (s *requestContext) AfterFunc(f func()) (stop func() bool) {
	call := &afterfunc.Call{F: f}
	s.AddCall(call)
	return func() bool { return s.StopCall(call) }
}

// AddCall is AfterFunc for a call whose memory is the caller's.
func (s *requestContext) AddCall(call *afterfunc.Call) {
	s.readAheadForEnd()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		call.Run()
		return
	}
	s.calls.Add(call)
}

// StopCall takes a call out, and reports whether it was still waiting.
func (s *requestContext) StopCall(call *afterfunc.Call) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.calls.Remove(call)
}

// bodyOver notes that nothing more is to come of the body, after which a client that has closed its side has left.
func (s *requestContext) bodyOver() {
	s.whole.Store(true)
	if s.conn.left.Load() != clientStays {
		s.cancel()
	}
}

// cancel ends the context. Only the first call counts.
func (s *requestContext) cancel() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		return
	}
	s.over = true
	if s.done != nil {
		close(s.done)
	}
	s.calls.Run()
}

var _ afterfunc.Context = (*requestContext)(nil)
