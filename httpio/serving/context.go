package serving

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio/afterfunc"
)

// RequestState is what a handler keeps for a request.
type RequestState interface {
	// Value returns what the context of the request holds beyond that of its connection, or nil.
	Value(key any) any
	// Completed is called once, after the handler has returned and the last byte of the response has been written, or
	// could not be. It must not wait: other requests of the connection may wait for it.
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
	// Recycled reports whether the memory of the request serves another one, as its writer's Recycle allows.
	Recycled bool
}

// Context is the context of a request. It needs no goroutine: Cancel calls the functions of AfterFunc, and the channel
// of Done is made by the first call of Done.
//
// It is made for one request even where other memory of requests is recycled, so that a late call ends no other
// request.
type Context struct {
	// Base is the context of the connection, whose values and deadline are the request's. Local is the address that the
	// client connected to. Both must be set before the first use.
	Base  context.Context //nolint:containedctx // It is what the context is made of.
	Local net.Addr

	state atomic.Pointer[RequestState]
	mutex sync.Mutex
	over  bool
	done  chan struct{}
	calls afterfunc.Calls
}

// Attach lets the context answer with state, until Detach.
func (s *Context) Attach(state *RequestState) { s.state.Store(state) }

// Detach ends what Attach began.
func (s *Context) Detach() { s.state.Store(nil) }

// Deadline returns that of the context of the connection.
func (s *Context) Deadline() (time.Time, bool) { return s.Base.Deadline() }

// Done is closed when the client has left or the handler has returned.
func (s *Context) Done() <-chan struct{} {
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
func (s *Context) Err() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		return context.Canceled
	}
	return nil
}

// Value returns the address that the client connected to under http.LocalAddrContextKey, and otherwise what was
// attached or what the context of the connection holds.
func (s *Context) Value(key any) any {
	switch key {
	case http.LocalAddrContextKey:
		return s.Local
	case afterfunc.Key{}:
		return s
	}
	if state := s.state.Load(); state != nil {
		if value := (*state).Value(key); value != nil {
			return value
		}
	}
	return s.Base.Value(key)
}

// AfterFunc calls f in a goroutine of its own after the end of the context, unless stop is called before.
// [context.AfterFunc] and contexts that are derived use it.
func (s *Context) AfterFunc(f func()) (stop func() bool) {
	call := &afterfunc.Call{F: f}
	s.AddCall(call)
	return func() bool { return s.StopCall(call) }
}

// AddCall is AfterFunc for a call whose memory is the caller's.
func (s *Context) AddCall(call *afterfunc.Call) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		call.Run()
		return
	}
	s.calls.Add(call)
}

// StopCall takes a call out, and reports whether it was still waiting.
func (s *Context) StopCall(call *afterfunc.Call) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.calls.Remove(call)
}

// Cancel ends the context. Only the first call counts.
func (s *Context) Cancel() {
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

var _ afterfunc.Context = (*Context)(nil)
