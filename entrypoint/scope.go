package entrypoint

import (
	"context"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/telemetry"
)

// scope is the context of a request. It answers for the record itself, instead of a context that wraps another.
type scope struct {
	inner    context.Context
	exchange *Exchange
}

// Deadline returns that of the server's context.
func (s *scope) Deadline() (time.Time, bool) { return s.inner.Deadline() }

// Done is closed when the client has left or the handler has returned.
func (s *scope) Done() <-chan struct{} { return s.inner.Done() }

// Err says why Done is closed.
func (s *scope) Err() error { return s.inner.Err() }

// Value returns the record under its key as long as the exchange lives, says whether X-Forwarded-For is kept, and returns
// otherwise what the server's context holds.
func (s *scope) Value(key any) any {
	switch key {
	case telemetry.RecordKey():
		if !s.exchange.alive() {
			return nil
		}
		return &s.exchange.record
	case canonical.KeepForwardedForKey():
		if s.exchange.entrypoint.settings.keepForwardedFor {
			return true
		}
		return nil
	}
	return s.inner.Value(key)
}
