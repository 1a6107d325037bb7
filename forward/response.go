package forward

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/http1"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// respond writes the endpoint's response to the client.
func (x *exchange) respond(response *http.Response) (loadbalancer.Outcome, error) {
	if x.body != nil {
		x.source.settle(x.body.at.Load())
	}
	if x.record.Observe.Has(telemetry.ObserveHeaders) {
		x.record.OriginHeader = response.Header.Clone()
	}
	if fields := x.call.Fields(); fields != nil {
		if cookie := x.trial.ask.Cookie; cookie != "" {
			fields = append(fields, http1.Field{Name: "Set-Cookie", Value: cookie})
		}
		x.record.Status = response.StatusCode
		x.relay.WriteFields(response.StatusCode, fields)
		return x.content(response, nil)
	}
	x.head(response)
	announced := announce(x.writer.Header(), response.Trailer)
	if len(announced) > 0 && x.request.ProtoMajor == 1 && x.request.ProtoAtLeast(1, 1) && x.request.Method != http.MethodHead {
		// HTTP/2 allows a length and trailers together, HTTP/1.1 has trailers in chunked bodies alone.
		delete(x.writer.Header(), "Content-Length")
	}
	x.record.Status = response.StatusCode
	x.writer.WriteHeader(response.StatusCode)
	return x.content(response, announced)
}

// content writes what follows the head.
func (x *exchange) content(response *http.Response, announced []string) (loadbalancer.Outcome, error) {
	if response.Body != http.NoBody {
		if outcome, err := x.copyBody(response); err != nil {
			return outcome, err
		}
	}
	x.trailers(response.Trailer, announced)
	return loadbalancer.Answered, nil
}

// head copies the status line's companions. Values are shared: the response is nobody else's.
func (x *exchange) head(response *http.Response) {
	header := response.Header
	if !x.direct() || x.call.HopByHop() {
		canonical.RemoveHopByHop(header, nil)
		if response.StatusCode != http.StatusUpgradeRequired || x.request.ProtoMajor != 1 {
			delete(header, "Connection")
			delete(header, "Upgrade")
		}
	}
	if response.StatusCode == http.StatusNoContent {
		// RFC 9110 section 8.6.
		delete(header, "Content-Length")
	}
	own := header
	if x.call.Header == nil || response.StatusCode == http.StatusSwitchingProtocols {
		own = x.writer.Header()
		merge(own, header)
	}
	if cookie := x.trial.ask.Cookie; cookie != "" {
		own["Set-Cookie"] = append(slices.Clip(own["Set-Cookie"]), cookie)
	}
	if _, named := own["Content-Type"]; !named {
		// The server would guess one from the body.
		own["Content-Type"] = nil
	}
}

// merge adds the endpoint's fields to those that are there.
func merge(own, header http.Header) {
	for name, values := range header {
		if present := own[name]; len(present) > 0 && !single(name) {
			values = append(slices.Clip(present), values...)
		}
		own[name] = values
	}
}

// single reports whether two values of a header that this package relies on would contradict each other.
func single(name string) bool {
	return name == "Content-Length" || name == "Content-Type" || name == "Date"
}

// announce lists in Trailer what the endpoint announced, and returns the names.
func announce(own, trailer http.Header) []string {
	if len(trailer) == 0 {
		return nil
	}
	names := make([]string, 0, len(trailer))
	for name := range trailer {
		if allowedTrailer(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	own["Trailer"] = []string{strings.Join(names, ", ")}
	return names
}

// trailers writes what came after the body. The server sends names that were not announced under a prefix.
func (x *exchange) trailers(trailer http.Header, announced []string) {
	own := x.writer.Header()
	for name, values := range trailer {
		if !allowedTrailer(name) {
			continue
		}
		if !slices.Contains(announced, name) {
			name = http.TrailerPrefix + name
		}
		own[name] = values
	}
}

// firstFlush is how long the head of a streaming response waits for the first bytes of its body.
const firstFlush = time.Millisecond

// copyBody writes the body as it comes. It flushes after each write when the response streams, and otherwise when written
// bytes have waited for the interval.
func (x *exchange) copyBody(response *http.Response) (loadbalancer.Outcome, error) {
	if ready, ok := response.Body.(interface{ Ready() bool }); ok && ready.Ready() {
		// There is nothing to wait for, so nothing has to be flushed.
		return x.copied(response.Body.(io.WriterTo).WriteTo(x.writer))
	}
	if discards(x.writer) {
		discard(response.Body)
		return loadbalancer.Answered, nil
	}
	flusher := &x.flusher
	flusher.writer, flusher.control, flusher.interval = x.writer, &x.control, x.target.FlushInterval
	if x.streams(response) || flusher.interval < 0 {
		flusher.each = true
		flusher.interval = firstFlush
	}
	flusher.unflushed = true
	defer flusher.stop()
	if body, ok := response.Body.(io.WriterTo); ok {
		n, err := body.WriteTo(flusher.destination())
		if _, refused := errors.AsType[*http1.DestinationError](err); err != nil && !refused {
			flusher.rest()
		}
		return x.copied(n, err)
	}
	if flusher.interval > 0 {
		flusher.arm()
	}
	pool := x.buffers()
	buffer := pool.get()
	defer pool.put(buffer)
	var total int64
	for {
		n, err := response.Body.Read(buffer[:])
		total += int64(n)
		if n > 0 {
			if writeErr := flusher.write(buffer[:n], err == nil); writeErr != nil {
				return x.copied(total, &http1.DestinationError{Err: writeErr})
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return x.copied(total, nil)
		default:
			return x.copied(total, err)
		}
	}
}

// copied notes how much was copied, and tells what the end of it means.
func (x *exchange) copied(n int64, err error) (loadbalancer.Outcome, error) {
	x.record.OriginBytes = n
	if err == nil {
		return loadbalancer.Answered, nil
	}
	if refused, ok := errors.AsType[*http1.DestinationError](err); ok {
		return loadbalancer.Abandoned, &Error{Phase: ResponseBegun, Err: &sideError{"client", refused.Err}}
	}
	outcome, failed := x.failure(ResponseBegun, err)
	return outcome, failed
}

// streams reports whether the client shall see each piece of the response at once: its length is not known, or it is a
// stream by its type.
func (x *exchange) streams(response *http.Response) bool {
	if response.ContentLength < 0 {
		return true
	}
	kind := response.Header.Get("Content-Type")
	for _, field := range x.call.Fields() {
		if field.Name == "Content-Type" {
			kind = field.Value
			break
		}
	}
	kind, _, _ = strings.Cut(kind, ";")
	kind, _, _ = strings.Cut(kind, "+")
	kind = strings.TrimSpace(kind)
	return strings.EqualFold(kind, "text/event-stream") || strings.EqualFold(kind, "application/grpc")
}

func (x *exchange) buffers() *buffers {
	if own, ok := x.target.Member.Upstream().RoundTripper().(*connections); ok {
		return &own.transport.buffers
	}
	return new(buffers)
}
