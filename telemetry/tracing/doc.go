// Package tracing makes the spans of requests, and decides which requests have some.
//
// In flow requests with their trace context (W3C Trace Context, https://www.w3.org/TR/trace-context/) and finished Records; out flow
// spans in batches to an exporter, and the header that tells endpoints of the decision. It never blocks a request and allocates nothing
// of its own for one that is not sampled: what can not be sent is dropped and counted. Baggage and other systems' headers are not read.
package tracing
