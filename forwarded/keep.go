package forwarded

import "context"

type keepForwardedFor struct{}

// KeepForwardedFor returns a context with which X-Forwarded-For is forwarded as received, without appending the peer
// (the options notAppendXForwardedFor).
func KeepForwardedFor(ctx context.Context) context.Context {
	return context.WithValue(ctx, keepForwardedFor{}, true)
}

// KeepForwardedForKey is the context key whose non-nil value has this effect, for contexts with their own Value.
func KeepForwardedForKey() any { return keepForwardedFor{} }

// KeepsForwardedFor reports whether X-Forwarded-For is forwarded as received.
func KeepsForwardedFor(ctx context.Context) bool { return ctx.Value(keepForwardedFor{}) != nil }
