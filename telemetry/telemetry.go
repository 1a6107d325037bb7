// Package telemetry is how Sluice tells what it does: logs, metrics and the Record of one request.
//
// In flow lines, counts and finished Records from every stage; out flow log lines, the metrics page and, later, traces.
// It is a leaf: it knows nothing about routes or endpoints beyond their names. Nothing here blocks a request: what
// cannot be written at once is dropped and counted.
package telemetry

// Logger writes one line for operators. Arguments alternate between keys and values, as in log/slog.
// Secrets are never handed to a Logger.
type Logger interface {
	Debug(message string, keysAndValues ...any)
	Info(message string, keysAndValues ...any)
	Warn(message string, keysAndValues ...any)
	Error(message string, keysAndValues ...any)
}
