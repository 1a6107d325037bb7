package forward

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// respond writes the endpoint's response to the client.
func (a *attempt) respond(response *http.Response) (loadbalancer.Outcome, error) {
	if a.body != nil {
		a.replayBody.Settle()
	}
	if a.record.Observe.Has(telemetry.ObserveHeaders) {
		a.record.OriginHeader = response.Header.Clone()
	}
	var announced []string
	a.record.Status = response.StatusCode
	if fields := a.fields(); fields != nil {
		if cookie := a.state.pick.Cookie; cookie != "" {
			fields = append(fields, wire.Field{Name: "Set-Cookie", Value: cookie})
		}
		a.relay.WriteFields(response.StatusCode, fields)
	} else {
		a.head(response)
		announced = announce(a.writer.Header(), response.Trailer)
		if len(announced) > 0 && a.request.ProtoMajor == 1 && a.request.ProtoAtLeast(1, 1) &&
			a.request.Method != http.MethodHead {
			// HTTP/2 allows a length and trailers together, HTTP/1.1 has trailers in chunked bodies alone.
			delete(a.writer.Header(), "Content-Length")
		}
		a.writer.WriteHeader(response.StatusCode)
	}
	if response.Body != http.NoBody {
		if outcome, err := a.copyBody(response); err != nil {
			return outcome, err
		}
	}
	if len(response.Trailer) > 0 {
		a.trailers(response.Trailer, announced)
	}
	return loadbalancer.Answered, nil
}

// head copies the response's header. Values are shared: the response is used only here.
func (a *attempt) head(response *http.Response) {
	header := response.Header
	if a.hopByHop() {
		forwarded.RemoveHopByHop(header, nil)
		if response.StatusCode != http.StatusUpgradeRequired || a.request.ProtoMajor != 1 {
			delete(header, "Connection")
			delete(header, "Upgrade")
		}
	}
	if response.StatusCode == http.StatusNoContent {
		// RFC 9110 section 8.6.
		delete(header, "Content-Length")
	}
	own := header
	if a.call.Header == nil || response.StatusCode == http.StatusSwitchingProtocols {
		own = a.writer.Header()
		merge(own, header)
	}
	if cookie := a.state.pick.Cookie; cookie != "" {
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

// single reports whether a header that this package relies on may have one value only.
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
func (a *attempt) trailers(trailer http.Header, announced []string) {
	own := a.writer.Header()
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

// copyBody writes the body as it comes. It flushes after each write when the response streams, and otherwise
// when written bytes have waited for the interval.
func (a *attempt) copyBody(response *http.Response) (loadbalancer.Outcome, error) {
	if body, whole := httpio.Buffered(response.Body); whole {
		// The rest is in memory: no flush is needed.
		return a.copied(body.WriteTo(a.writer))
	}
	if httpio.Discards(a.writer) {
		discard(response.Body)
		return loadbalancer.Answered, nil
	}
	flusher := &a.flusher
	flusher.writer, flusher.control, flusher.interval = a.writer, &a.control, a.target.FlushInterval
	if a.streams(response) || flusher.interval < 0 {
		flusher.each = true
		flusher.interval = firstFlush
	}
	flusher.unflushed = true
	defer flusher.stop()
	if body, ok := response.Body.(io.WriterTo); ok {
		n, err := body.WriteTo(flusher.destination())
		if _, refused := errors.AsType[*client.DestinationError](err); err != nil && !refused {
			flusher.rest()
		}
		return a.copied(n, err)
	}
	if flusher.interval > 0 {
		flusher.arm()
	}
	memory := a.memory()
	buffer := memory.Buffer()
	defer memory.Recycle(buffer)
	var total int64
	for {
		n, err := response.Body.Read(buffer[:])
		total += int64(n)
		if n > 0 {
			if writeErr := flusher.write(buffer[:n], err == nil); writeErr != nil {
				return a.copied(total, &client.DestinationError{Err: writeErr})
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return a.copied(total, nil)
		default:
			return a.copied(total, err)
		}
	}
}

// copied records how much was copied, and maps the error to an outcome.
func (a *attempt) copied(n int64, err error) (loadbalancer.Outcome, error) {
	a.record.OriginBytes = n
	if err == nil {
		return loadbalancer.Answered, nil
	}
	if refused, ok := errors.AsType[*client.DestinationError](err); ok {
		return loadbalancer.Abandoned, &Error{Phase: ResponseBegun, Err: &sideError{"client", refused.Err}}
	}
	outcome, failed := a.failure(ResponseBegun, err)
	return outcome, failed
}

// streams reports whether each piece of the response is flushed at once: its length is not known, or its media
// type is a stream.
func (a *attempt) streams(response *http.Response) bool {
	if response.ContentLength < 0 {
		return true
	}
	kind := response.Header.Get("Content-Type")
	for _, field := range a.fields() {
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

// memory returns the memory of bodies.
func (a *attempt) memory() *replay.Memory {
	if a.state.service == nil {
		return nil
	}
	return &a.state.service.memory.bodies
}

const (
	// discardBytes and discardTime bound how much of a discarded body is read, so that its connection can be
	// reused.
	discardBytes = 64 << 10
	discardTime  = 100 * time.Millisecond
)

// discard reads and drops a body, within bounds. When it returns, its timer no longer refers to the body, which
// another attempt may reuse.
func discard(body io.ReadCloser) {
	closed := make(chan struct{})
	timer := time.AfterFunc(discardTime, func() {
		defer close(closed)
		_ = body.Close() // ends the read below
	})
	_, _ = io.CopyN(io.Discard, body, discardBytes) // an error does not matter, the endpoint has answered
	if !timer.Stop() {
		<-closed
	}
}
