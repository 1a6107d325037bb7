// Package otlp reaches OpenTelemetry collectors, by gRPC and by HTTP.
//
// In flow the options of a collector; out flow exporters of spans, metrics and log lines for the packages that
// make them, and the resource under which they appear. It makes no telemetry of its own, does not block its
// callers, and never logs a header's value: what a collector answers is cut and freed of it before it becomes
// an error.
package otlp
