// Package telemetry has the logs and metrics of Sluice, and the Record of one request.
//
// In flow lines, counts and finished Records from every stage; out flow log lines and the metrics page.
// It uses only the names of routes and endpoints. Nothing here blocks a request: what cannot be queued at once is
// dropped and counted.
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
