package forward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// measured are those who want to know how long a service takes.
const measured = telemetry.ObserveMetrics | telemetry.ObserveAccess

// took adds to the record how long the service has taken, which was asked so long after the start. A failover asks two of them. Only the
// time since the start is read: the time of day as well would cost the double.
func took(record *telemetry.Record, start time.Time, asked time.Duration) {
	record.ServiceDuration += time.Since(start) - asked
}

// begin notes who is asked, and tells a sampled request's endpoint to be a part of a span of its own.
func (x *exchange) begin() {
	member, record := x.target.Member, x.record
	record.Endpoint, record.OriginStatus, record.OriginBytes = member.Address(), 0, 0
	if record.Observe == 0 {
		return
	}
	record.EndpointURL = member.URL()
	if record.Span == nil {
		return
	}
	method, registered := telemetry.RegisteredMethod(x.request.Method)
	name := method
	if !registered {
		name = "HTTP" // The conventions' name of a span whose method is none to name it by.
	}
	span := record.Span.Child(name, true)
	span.Set("http.request.method", method)
	if !registered {
		span.Set("http.request.method_original", x.request.Method)
	}
	span.Set("url.scheme", member.Upstream().Scheme())
	span.Set("url.full", record.EndpointURL+x.request.URL.EscapedPath())
	if host, port, err := net.SplitHostPort(member.Address()); err == nil {
		number, _ := strconv.Atoi(port) // an address has a number
		span.Set("server.address", host)
		span.Set("server.port", number)
		span.Set("network.peer.address", host)
		span.Set("network.peer.port", number)
	}
	if tries := record.Tries; tries > 0 {
		span.Set("http.request.resend_count", tries)
	}
	// A new value: a try before this one may still be sending the old one.
	x.request.Header["Traceparent"] = []string{span.Traceparent()}
	x.trial.span = span
}

// endSpan ends the span of a try.
func (x *exchange) endSpan() {
	result := &x.trial.result
	failure := ""
	if result.Status > 0 {
		x.trial.span.Set("http.response.status_code", result.Status)
	}
	switch {
	case result.Outcome != loadbalancer.Answered && result.Outcome != loadbalancer.Abandoned:
		failure = result.Outcome.String()
	case result.Status >= http.StatusBadRequest:
		failure = strconv.Itoa(result.Status) // A client span, whose endpoint has refused (semantic conventions).
	}
	if failure != "" {
		x.trial.span.Set("error.type", failure)
	}
	x.trial.span.End(failure)
	x.trial.span = nil
}

// code returns the stable name of what an exchange has failed by.
func code(failed *Error, t *trial) telemetry.Code {
	switch {
	case failed.Status == StatusClientClosedRequest || errors.Is(t.ended, context.Canceled):
		return telemetry.CodeClientLeft
	case failed.Phase == ResponseBegun && t.result.Outcome == loadbalancer.Abandoned:
		return telemetry.CodeClientLeft
	case t.ended != nil || failed.Status == http.StatusGatewayTimeout || t.result.Outcome == loadbalancer.TimedOut:
		return telemetry.CodeTimeout
	case t.result.Outcome == loadbalancer.Unreachable:
		return telemetry.CodeUnreachable
	case failed.Phase == ResponseBegun || failed.Status == http.StatusBadGateway:
		return telemetry.CodeBroken
	}
	return telemetry.CodeFor(failed.Status)
}
