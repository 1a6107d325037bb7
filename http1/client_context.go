package http1

import "context"

// afterFuncer is a context that runs functions at its end without a goroutine of its own, as package context knows it.
type afterFuncer interface {
	context.Context
	AfterFunc(f func()) (stop func() bool)
}

// afterFuncKey asks a context, through any layer of values, for the serverContext that it is made of.
type afterFuncKey struct{}

// following is the wish of an exchange to be told of the end of its request's context. The zero value follows nothing.
type following struct {
	// own and call are for a context of this package's server, where following costs nothing; halt for any other.
	own  *serverContext
	call afterCall
	halt func() bool
}

// start calls abort when the context ends, on some other goroutine.
func (f *following) start(ctx context.Context, abort func()) {
	f.own, f.halt = nil, nil
	if own, ok := ctx.Value(afterFuncKey{}).(*serverContext); ok && own.ends(ctx) {
		f.own = own
		f.call = afterCall{f: abort}
		own.add(&f.call)
		return
	}
	f.halt = follow(ctx, abort)
}

// stop ends the following. It reports whether abort has not been called and never will be.
func (f *following) stop() bool {
	switch {
	case f.own != nil:
		return f.own.stop(&f.call)
	case f.halt != nil:
		return f.halt()
	}
	return true
}

// layer is a context that adds values to another and ends with it.
type layer interface{ EndsWith() context.Context }

// ends reports whether ctx is s, or adds nothing to it but values as far as that can be told for nothing.
func (s *serverContext) ends(ctx context.Context) bool {
	for ctx != s {
		above, ok := ctx.(layer)
		if !ok {
			return false
		}
		ctx = above.EndsWith()
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
	if base, ok := ctx.Value(afterFuncKey{}).(afterFuncer); ok && base.Done() == done {
		return base.AfterFunc(abort)
	}
	return context.AfterFunc(ctx, abort)
}
