package httpio

import (
	"context"
	"time"
)

// WithLimit returns a context with a deadline after a time, for a [net.Dialer] that has no time-out of its own. The
// context does not end by the deadline: the dialer keeps it by the connection, which takes no timer of a context. Zero
// is no limit, and an earlier deadline of ctx stays.
func WithLimit(ctx context.Context, limit time.Duration) context.Context {
	if limit <= 0 {
		return ctx
	}
	deadline := time.Now().Add(limit)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		return ctx
	}
	done := ctx.Done()
	if done == nil {
		done = make(chan struct{}) // Without a channel the dialer does not look at the deadline.
	}
	return limited{ctx, deadline, done}
}

// limited is a context with a deadline by which it does not end.
type limited struct {
	context.Context

	deadline time.Time
	done     <-chan struct{}
}

// Deadline returns the deadline.
func (l limited) Deadline() (deadline time.Time, ok bool) { return l.deadline, true }

// Done is closed when the context below ends.
func (l limited) Done() <-chan struct{} { return l.done }

// AfterFunc calls f after the end of the context below. Package context would wait for that with a goroutine.
func (l limited) AfterFunc(f func()) (stop func() bool) {
	if direct, ok := l.Context.(afterFuncer); ok {
		return direct.AfterFunc(f)
	}
	return context.AfterFunc(l.Context, f)
}

// afterFuncer is a context that calls functions at its end without a goroutine, as package context defines it.
type afterFuncer interface {
	AfterFunc(f func()) (stop func() bool)
}
