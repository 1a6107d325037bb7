package entrypoint

import (
	"context"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/telemetry"
)

// scope is the context of a request. It answers for the record itself, instead of a context that wraps another.
type scope struct {
	inner context.Context
	visit *visit
}

// Deadline returns that of the server's context.
func (s *scope) Deadline() (time.Time, bool) { return s.inner.Deadline() }

// Done is closed when the client has left or the handler has returned.
func (s *scope) Done() <-chan struct{} { return s.inner.Done() }

// Err says why Done is closed.
func (s *scope) Err() error { return s.inner.Err() }

// AfterFunc calls f in a goroutine of its own after the end of the context, unless stop is called before. The package context asks
// for it, so that contexts that are derived cost no goroutine.
func (s *scope) AfterFunc(f func()) (stop func() bool) {
	if direct, ok := s.inner.(interface{ AfterFunc(f func()) func() bool }); ok {
		return direct.AfterFunc(f)
	}
	return context.AfterFunc(s.inner, f)
}

// Value returns the record under its key as long as the handler runs, says whether X-Forwarded-For is kept, and returns otherwise
// what the server's context holds.
func (s *scope) Value(key any) any {
	switch key {
	case telemetry.RecordKey():
		if s.visit.over.Load() {
			return nil
		}
		return &s.visit.record
	case canonical.KeepForwardedForKey():
		if s.visit.entrypoint.settings.keepForwardedFor {
			return true
		}
		return nil
	}
	return s.inner.Value(key)
}
