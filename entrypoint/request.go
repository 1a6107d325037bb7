package entrypoint

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio/serving"
	"github.com/sluiceproxy/sluice/telemetry"
)

// ErrFinished is what calls on a ResponseWriter or a request's body return after the handler has returned.
var ErrFinished = serving.ErrFinished

// statusClientLeft is recorded, never sent, when the client left before the response began.
const statusClientLeft = telemetry.StatusClientClosedRequest

// requestState is what a request has on either protocol: its context and its record. It is a part of the one object
// that the entrypoint has for a request.
type requestState struct {
	entrypoint *Entrypoint
	connection *connection
	http1      bool
	// context is the server's.
	context context.Context //nolint:containedctx // It is the request's own.
	client  netip.Addr
	// forwarded holds the values of the headers that the entrypoint sets.
	forwarded forwarded.Values
	// seen says what kinds of headers the request may have come with.
	seen   forwarded.Seen
	record telemetry.Record
	// bytes counts what was read of a body of undeclared length. A goroutine that the handler left behind may be
	// reading still.
	bytes atomic.Int64
	// over says that the handler has returned.
	over atomic.Bool
	// left says that the client had left when the handler returned, with HTTP/1.1 without an answer. The context of
	// HTTP/1.1 has ended in any case when the record is reported.
	left bool
}

// open begins a request with the request that a server has received.
func (v *requestState) open(e *Entrypoint, r *http.Request) {
	v.entrypoint, v.context, v.http1 = e, r.Context(), r.ProtoMajor == 1
	v.record.Start = time.Now()
	v.record.Entrypoint, v.record.Method, v.record.Protocol = e.name, r.Method, "http"
	switch upgrade, accept := r.Header["Upgrade"], r.Header["Accept"]; {
	case len(upgrade) > 0 && strings.EqualFold(forwarded.UpgradeType(r.Header), "websocket"):
		v.record.Protocol = "websocket"
	case len(accept) > 0 && strings.HasPrefix(accept[0], "text/event-stream"):
		v.record.Protocol = "sse"
	}
	if c, ok := v.context.Value(connectionKey{}).(*connection); ok {
		c.reached(active)
		v.connection, v.client, v.record.Client, v.record.ClientPort = c, c.client, c.text, c.port
	} else if v.client, ok = forwarded.ClientAddr(r.RemoteAddr); ok {
		v.record.Client, v.record.ClientPort = v.client.String(), portOf(r.RemoteAddr)
	}
	if v.record.Observe = e.deps.Observe; v.record.Observe|e.deps.Watched != 0 {
		v.record.Query, v.record.Version, v.record.TLS = r.URL.RawQuery, r.Proto, r.TLS
		v.record.BytesReceived = max(r.ContentLength, 0)
		v.record.RequestHeader = r.Header
	}
}

// Value returns the record under its key as long as the handler runs, and says whether X-Forwarded-For is kept. Package
// context looks up keys of its own also when the handler has returned and the memory serves another request: for those
// nothing of the request is read.
func (v *requestState) Value(key any) any {
	switch key {
	case telemetry.RecordKey():
		if !v.over.Load() {
			return &v.record
		}
	case forwarded.KeepForwardedForKey():
		if e := v.entrypoint; e != nil && e.settings.keepForwardedFor {
			return true
		}
	}
	return nil
}

// refuse answers without a handler. The reason is for the log.
func (v *requestState) refuse(w http.ResponseWriter, status int, reason string) {
	v.record.Reason = reason
	http.Error(w, http.StatusText(status), status)
}

// believe leaves no trailer that a client must not set.
func (v *requestState) believe(trailer http.Header) {
	forwarded.StripUntrusted(trailer)
	if v.entrypoint.settings.underscore != forwarded.UnderscoreKeep {
		forwarded.UnderscoreDelete.Apply(trailer)
	}
}

// panicked reports a panic of the handler.
func (v *requestState) panicked(cause any, stack []byte) {
	v.record.Code, v.record.Reason = telemetry.CodePanic, "handler panicked"
	v.entrypoint.report(report{
		level: failure, text: "handler panicked", request: v.record.Method + " " + v.record.Host + v.record.Path,
		panic: cause, stack: string(stack),
	})
}

// submit reports the record to the sinks. The status is the one that was sent, or 0.
func (v *requestState) submit(status int) {
	switch {
	case status != 0:
		v.record.Status = status
	case v.left:
		v.record.Status = statusClientLeft
		if v.record.Code == "" {
			v.record.Code = telemetry.CodeClientLeft
		}
	case v.record.Status == 0:
		v.record.Status = http.StatusOK
	}
	if v.record.Reason != "" && v.record.Code == "" {
		v.record.Code = telemetry.CodeFor(v.record.Status)
	}
	if received := v.bytes.Load(); received > 0 {
		v.record.BytesReceived = received
	}
	v.record.Duration = time.Since(v.record.Start)
	v.entrypoint.finished(&v.record)
}

// finished hands a record to the sinks.
func (e *Entrypoint) finished(record *telemetry.Record) {
	for _, sink := range e.deps.Sinks {
		sink.Finished(record)
	}
}
