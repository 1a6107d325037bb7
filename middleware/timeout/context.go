package timeout

import (
	"context"
	"slices"
	"sync"
)

// requestContext is a context that ends with its parent, or with an error of its owner, as context.DeadlineExceeded at
// a time that is not known beforehand. Contexts derived from it need no goroutine.
type requestContext struct {
	context.Context //nolint:containedctx // It is the parent.
	mutex           sync.Mutex
	err             error
	done            chan struct{}
	calls           []*func()
	unlink          func() bool
}

// afterFuncer is a context for which [context.AfterFunc] needs no goroutine.
type afterFuncer interface {
	AfterFunc(f func()) (stop func() bool)
}

// open begins a context with its parent.
func (c *requestContext) open(parent context.Context) {
	c.Context = parent
	if direct, ok := parent.(afterFuncer); ok {
		c.unlink = direct.AfterFunc(c.parentEnded)
	} else {
		c.unlink = context.AfterFunc(parent, c.parentEnded)
	}
}

func (c *requestContext) parentEnded() { c.end(c.Context.Err()) }

// close ends the context of a handler that has returned.
func (c *requestContext) close() {
	c.unlink()
	c.end(context.Canceled)
}

// end ends the context with an error. Only the first counts.
func (c *requestContext) end(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	for _, call := range c.calls {
		go (*call)()
	}
	c.calls = nil
}

// Done is closed at the end.
func (c *requestContext) Done() <-chan struct{} {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err returns context.DeadlineExceeded when the time was over, and otherwise the parent's error or context.Canceled.
func (c *requestContext) Err() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.err
}

// AfterFunc calls f in a goroutine of its own after the end, unless stop is called before. [context.AfterFunc] and
// derived contexts use it.
func (c *requestContext) AfterFunc(f func()) (stop func() bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	call := &f
	c.calls = append(c.calls, call)
	return func() bool {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		at := slices.Index(c.calls, call)
		if at < 0 {
			return false
		}
		c.calls = slices.Delete(c.calls, at, at+1)
		return true
	}
}
