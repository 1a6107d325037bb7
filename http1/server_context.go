package http1

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// serverContext is the context of a request. It needs no goroutine: cancel calls the functions of AfterFunc,
// and the channel of Done is made by the first call of Done.
//
// It is made for one request even where the exchange is recycled, so that a late call ends no other request.
type serverContext struct {
	conn *serverConn
	// exchange may be another request's when the context is no longer that of the connection.
	exchange *exchange
	values   atomic.Pointer[RequestState]
	mutex    sync.Mutex
	// whole says that nothing more is to come of the request's body, over that the context has ended.
	whole atomic.Bool
	over  bool
	done  chan struct{}
	calls *afterCall
}

// afterCall is one call that waits for the end of a context.
type afterCall struct {
	f              func()
	previous, next *afterCall
}

// Deadline returns that of the context of the connection.
func (s *serverContext) Deadline() (time.Time, bool) { return s.conn.base.Deadline() }

// Done is closed when the client has left or the handler has returned.
func (s *serverContext) Done() <-chan struct{} {
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
func (s *serverContext) Err() error {
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
	// Err is why writing has failed, or nil. It is [ErrFinished] if the handler has left a call behind that writes.
	Err error
	// Begun reports whether a byte of the response's head has been written. It is false for hijacked connections.
	Begun bool
	// Unsent is how many bytes of the body were accepted by Write and could not be written.
	Unsent int64
	// Abandoned reports whether a goroutine of the handler is still in a call on the writer or the body.
	Abandoned bool
}

// Value returns the address that the client connected to under http.LocalAddrContextKey, and otherwise what was
// attached while the handler runs or what the context of the connection holds.
func (s *serverContext) Value(key any) any {
	switch key {
	case http.LocalAddrContextKey:
		return s.conn.local
	case afterFuncKey{}:
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
func (s *serverContext) AfterFunc(f func()) (stop func() bool) {
	call := &afterCall{f: f}
	s.add(call)
	return func() bool { return s.stop(call) }
}

// add is AfterFunc for a call whose memory is the caller's.
func (s *serverContext) add(call *afterCall) {
	s.readAheadForEnd()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		go call.f()
		call.f = nil
		return
	}
	if call.next = s.calls; s.calls != nil {
		s.calls.previous = call
	}
	s.calls = call
}

// stop takes a call out, and reports whether it was still waiting.
func (s *serverContext) stop(call *afterCall) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case call.f == nil:
		return false
	case call.previous != nil:
		call.previous.next = call.next
	default:
		s.calls = call.next
	}
	if call.next != nil {
		call.next.previous = call.previous
	}
	call.f = nil
	return true
}

// bodyOver notes that nothing more is to come of the body, after which a client that has closed its side has left.
func (s *serverContext) bodyOver() {
	s.whole.Store(true)
	if s.conn.left.Load() != clientStays {
		s.cancel()
	}
}

// cancel ends the context. Only the first call counts.
func (s *serverContext) cancel() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		return
	}
	s.over = true
	if s.done != nil {
		close(s.done)
	}
	for call := s.calls; call != nil; call = call.next {
		go call.f()
		call.f = nil
	}
	s.calls = nil
}

var _ context.Context = (*serverContext)(nil)
