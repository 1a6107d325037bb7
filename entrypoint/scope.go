package entrypoint

import "context"

// scope is the context of a request of HTTP/2. It answers for the visit itself, instead of a context that wraps another.
type scope struct {
	context.Context //nolint:containedctx // It is the server's, with which this one ends.
	visit           *visit
}

// AfterFunc calls f in a goroutine of its own after the end of the context, unless stop is called before. The package context asks
// for it, so that contexts that are derived cost no goroutine.
func (s *scope) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(s.Context, f) }

// Value returns what the visit knows, and otherwise what the server's context holds.
func (s *scope) Value(key any) any {
	if value := s.visit.Value(key); value != nil {
		return value
	}
	return s.Context.Value(key)
}
