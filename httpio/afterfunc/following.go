package afterfunc

import "context"

// afterFuncer is a context that runs functions at its end without a goroutine of its own, as package context defines
// it.
type afterFuncer interface {
	context.Context
	AfterFunc(f func()) (stop func() bool)
}

// Following is the subscription of an exchange to the end of its request's context. The zero value follows nothing.
type Following struct {
	// own and call are for a context that takes calls, where following costs nothing; halt for any other.
	own  Context
	call Call
	halt func() bool
}

// Start calls abort when the context ends, on some other goroutine.
func (f *Following) Start(ctx context.Context, abort func()) {
	f.own, f.halt = nil, nil
	if own, ok := base(ctx); ok {
		f.own = own
		f.call = Call{F: abort}
		own.AddCall(&f.call)
		return
	}
	f.halt = follow(ctx, abort)
}

// layer is a context that adds values to another and ends with it.
type layer interface{ EndsWith() context.Context }

// base returns the context that takes calls with whose end ctx ends, as far as that can be found without a cost.
func base(ctx context.Context) (own Context, ok bool) {
	for {
		if own, ok = ctx.(Context); ok {
			return own, true
		}
		above, ok := ctx.(layer)
		if !ok {
			return nil, false
		}
		ctx = above.EndsWith()
	}
}

// Stop ends the following. It reports whether abort has not been called and never will be.
func (f *Following) Stop() bool {
	switch {
	case f.own != nil:
		return f.own.StopCall(&f.call)
	case f.halt != nil:
		return f.halt()
	}
	return true
}

// follow returns nil for a context that never ends.
func follow(ctx context.Context, abort func()) (stop func() bool) {
	if direct, ok := ctx.(afterFuncer); ok {
		return direct.AfterFunc(abort)
	}
	done := ctx.Done()
	if done == nil {
		return nil
	}
	// Layers of values end with what they lie on; those with an end of their own have another channel.
	if own, ok := ctx.Value(Key{}).(afterFuncer); ok && own.Done() == done {
		return own.AfterFunc(abort)
	}
	return context.AfterFunc(ctx, abort)
}
