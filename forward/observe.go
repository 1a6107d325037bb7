package forward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// measured are the signals that need a service's duration.
const measured = telemetry.ObserveMetrics | telemetry.ObserveAccess

// took adds to the record, and to the member that served the request at the first attempt, how long the service has
// taken; before is the time from the start until the service was called. A failover calls two services. Only the
// monotonic time is read, which costs half of time.Now.
func took(record *telemetry.Record, start time.Time, before time.Duration, served **loadbalancer.Member) {
	duration := time.Since(start) - before
	record.ServiceDuration += duration
	if *served != nil && record.Observe.Has(telemetry.ObserveMetrics) {
		(*served).Took(duration)
	}
}

// beginSpan starts the client span of a sampled request.
func (a *attempt) beginSpan() {
	member, record := a.target.Member, a.record
	method, registered := telemetry.RegisteredMethod(a.request.Method)
	name := method
	if !registered {
		name = "HTTP" // the semantic conventions' span name for an unknown method
	}
	span := record.Span.Child(name, true)
	span.Set("http.request.method", method)
	if !registered {
		span.Set("http.request.method_original", a.request.Method)
	}
	span.Set("url.scheme", member.Upstream().Scheme())
	span.Set("url.full", record.EndpointURL+a.request.URL.EscapedPath())
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
	// A new value: an earlier attempt may still be sending the old one.
	a.request.Header["Traceparent"] = []string{span.Traceparent()}
	a.state.span = span
}

// endSpan ends the attempt's span.
func (a *attempt) endSpan() {
	result := &a.state.result
	failure := ""
	if result.Status > 0 {
		a.state.span.Set("http.response.status_code", result.Status)
	}
	switch {
	case result.Outcome != loadbalancer.Answered && result.Outcome != loadbalancer.Abandoned:
		failure = result.Outcome.String()
	case result.Status >= http.StatusBadRequest:
		failure = strconv.Itoa(result.Status) // a client span with status 4xx or 5xx is an error (semantic conventions)
	}
	if failure != "" {
		a.state.span.Set("error.type", failure)
	}
	a.state.span.End(failure)
	a.state.span = nil
}

// code returns the stable code of a failed attempt.
func code(failed *Error, t *attemptState) telemetry.Code {
	switch {
	case failed.Status == StatusClientClosedRequest || errors.Is(t.ended, context.Canceled):
		return telemetry.CodeClientLeft
	case failed.Phase == ResponseBegun && t.result.Outcome == loadbalancer.Abandoned:
		return telemetry.CodeClientLeft
	case t.ended != nil || failed.Status == http.StatusGatewayTimeout || t.result.Outcome == loadbalancer.TimedOut:
		return telemetry.CodeTimeout
	case t.result.Outcome == loadbalancer.Unreachable:
		return telemetry.CodeUnreachable
	case errors.Is(failed, descriptors.ErrReserved):
		return telemetry.CodeSaturated
	case failed.Phase == ResponseBegun || failed.Status == http.StatusBadGateway:
		return telemetry.CodeBroken
	}
	return telemetry.CodeFor(failed.Status)
}
