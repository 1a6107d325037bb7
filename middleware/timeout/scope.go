package timeout

import (
	"context"
	"slices"
	"sync"
)

// scope is a context that ends with its parent, or with context.DeadlineExceeded when its owner says so. The package context knows no such
// thing but for a time that is known beforehand. Who derives from it or follows it costs no goroutine.
type scope struct {
	context.Context //nolint:containedctx // It is the parent.
	mutex           sync.Mutex
	err             error
	done            chan struct{}
	calls           []*func()
	unlink          func() bool
}

// afterFuncer is a context that [context.AfterFunc] costs no goroutine with.
type afterFuncer interface {
	AfterFunc(f func()) (stop func() bool)
}

// open begins a scope with its parent.
func (s *scope) open(parent context.Context) {
	s.Context = parent
	if direct, ok := parent.(afterFuncer); ok {
		s.unlink = direct.AfterFunc(s.parentEnded)
	} else {
		s.unlink = context.AfterFunc(parent, s.parentEnded)
	}
}

func (s *scope) parentEnded() { s.end(s.Context.Err()) }

// close ends the scope, whose handler has returned.
func (s *scope) close() {
	s.unlink()
	s.end(context.Canceled)
}

// end ends the scope with an error. Only the first counts.
func (s *scope) end(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	if s.done != nil {
		close(s.done)
	}
	for _, call := range s.calls {
		go (*call)()
	}
	s.calls = nil
}

// Done is closed at the end.
func (s *scope) Done() <-chan struct{} {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.done == nil {
		s.done = make(chan struct{})
		if s.err != nil {
			close(s.done)
		}
	}
	return s.done
}

// Err returns context.DeadlineExceeded when the time was over, and what the parent says, or context.Canceled, after any other end.
func (s *scope) Err() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.err
}

// AfterFunc calls f in a goroutine of its own after the end, unless stop is called before. [context.AfterFunc] and contexts that are
// derived use it.
func (s *scope) AfterFunc(f func()) (stop func() bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.err != nil {
		go f()
		return func() bool { return false }
	}
	call := &f
	s.calls = append(s.calls, call)
	return func() bool {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		at := slices.Index(s.calls, call)
		if at < 0 {
			return false
		}
		s.calls = slices.Delete(s.calls, at, at+1)
		return true
	}
}
