// Package telemetry has the Record of one request, and the sinks that finished records go to.
//
// In flow Records, which every stage fills in, and lines for the log; out flow the counts and the log of failures. The
// log, the metrics, the access log and the traces have packages of their own below. Nothing here blocks a request: what
// cannot be queued at once is dropped and counted, and no part of a request is kept.
package telemetry

// Logger writes one line for operators. Arguments alternate between keys and values, as in log/slog.
// Secrets are never handed to a Logger.
type Logger interface {
	Debug(message string, keysAndValues ...any)
	Info(message string, keysAndValues ...any)
	Warn(message string, keysAndValues ...any)
	Error(message string, keysAndValues ...any)
}

// Discard is a Logger that writes nothing.
type Discard struct{}

// Debug writes nothing.
func (Discard) Debug(string, ...any) {}

// Info writes nothing.
func (Discard) Info(string, ...any) {}

// Warn writes nothing.
func (Discard) Warn(string, ...any) {}

// Error writes nothing.
func (Discard) Error(string, ...any) {}
