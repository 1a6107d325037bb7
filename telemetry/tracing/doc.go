// Package tracing creates the spans of requests, and decides which requests have some.
//
// Requests arrive with their trace context (W3C Trace Context, https://www.w3.org/TR/trace-context/). A sampled
// one gets spans of OpenTelemetry's SDK, which are sent in batches; the traceparent header passes the decision
// to endpoints. The package does not block a request, and allocates nothing of its own for one that is not
// sampled. Spans that cannot be sent are dropped and counted. Baggage and the headers of other systems are not
// read.
package tracing
