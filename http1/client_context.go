package http1

import "context"

// afterFuncer is a context that runs functions at its end without a goroutine of its own, as package context knows it.
type afterFuncer interface {
	context.Context
	AfterFunc(f func()) (stop func() bool)
}

// afterFuncKey asks a context, through any layer of values, for the afterFuncer that it is made of.
type afterFuncKey struct{}

// follow calls abort when the context ends, on some other goroutine. Stop is nil when it never ends; it reports whether
// abort has not been called and never will be.
func follow(ctx context.Context, abort func()) (stop func() bool) {
	if direct, ok := ctx.(afterFuncer); ok {
		return direct.AfterFunc(abort)
	}
	done := ctx.Done()
	if done == nil {
		return nil
	}
	// Layers of values end with what they lie on; those with an end of their own have another channel.
	if base, ok := ctx.Value(afterFuncKey{}).(afterFuncer); ok && base.Done() == done {
		return base.AfterFunc(abort)
	}
	return context.AfterFunc(ctx, abort)
}
