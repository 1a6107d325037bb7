package forwarded

import "context"

type keepForwardedFor struct{}

// KeepForwardedFor returns a context that says that X-Forwarded-For is forwarded as it was received, without the peer
// at its end (the options notAppendXForwardedFor).
func KeepForwardedFor(ctx context.Context) context.Context {
	return context.WithValue(ctx, keepForwardedFor{}, true)
}

// KeepForwardedForKey is the context key under which a non-nil value says so, for contexts that answer Value
// themselves.
func KeepForwardedForKey() any { return keepForwardedFor{} }

// KeepsForwardedFor reports whether the context says so.
func KeepsForwardedFor(ctx context.Context) bool { return ctx.Value(keepForwardedFor{}) != nil }
