package entrypoint

import (
	"maps"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/telemetry"
)

// The state of an Exchange counts the calls that are under way, and has one bit for its end.
const (
	oneRead  uint64 = 1
	oneWrite uint64 = 1 << 24
	writes   uint64 = (oneWrite - 1) << 24
	dead     uint64 = 1 << 63
)

// Exchange is one request of HTTP/2 with its response: the http.ResponseWriter, body, context and record of the request in one.
// It guards the writer and body of net/http: once the handler has returned, every call fails or does nothing, and reaches
// nobody else's request, whatever goroutines the handler left behind. It is never used again.
//
// While the handler runs, the rules of http.ResponseWriter hold: one goroutine at a time writes, one reads.
type Exchange struct {
	visit
	scope scope
	// request is what the handler sees.
	request http.Request
	state   atomic.Uint64
	// idle is closed by the last call that was under way when the handler returned.
	idle chan struct{}

	inner    http.ResponseWriter
	received *http.Request
	// header is what the handler writes to; sent is the server's own map, which nobody else ever sees.
	header http.Header
	sent   http.Header
	// status is the status code that was handed to the server; 0 before that. It is apart from the record's, which others
	// may set before they write.
	status int
	// sentFields is how many fields header had when it was sent.
	sentFields int
	flushed    bool

	body body
}

// serveHTTP2 is the handler of HTTP/2.
func (c *chain) serveHTTP2(w http.ResponseWriter, r *http.Request) {
	x := &Exchange{inner: w, received: r}
	x.open(c.entrypoint, r)
	x.seen = canonical.Seen{HopByHop: true, Extended: true}
	x.scope = scope{Context: r.Context(), visit: &x.visit}
	x.request = *r.WithContext(&x.scope)
	x.request.Body = x.guardBody()
	x.serve()
}

// enter begins a call; it reports false when the exchange is over.
func (x *Exchange) enter(unit uint64) bool {
	for {
		state := x.state.Load()
		if state&dead != 0 {
			return false
		}
		if x.state.CompareAndSwap(state, state+unit) {
			return true
		}
	}
}

// leave ends a call.
func (x *Exchange) leave(unit uint64) {
	if x.state.Add(-unit) == dead {
		close(x.idle)
	}
}

// alive reports whether the handler has not returned yet.
func (x *Exchange) alive() bool { return x.state.Load()&dead == 0 }

// serve runs the handler and ends the exchange.
func (x *Exchange) serve() {
	completed := false
	defer func() {
		if completed {
			x.finish()
			return
		}
		x.failed(recover())
	}()
	x.entrypoint.chain.admit(&x.visit, x, &x.request)
	completed = true
}

// failed ends an exchange whose handler has panicked, or has ended its goroutine.
func (x *Exchange) failed(cause any) {
	aborted := cause == http.ErrAbortHandler //nolint:errorlint // net/http compares the value of a panic the same way.
	if !aborted {
		x.panicked(cause, debug.Stack())
		if x.status == 0 {
			clear(x.Header())
			http.Error(x, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			x.finish()
			return
		}
	}
	x.die()
	x.report(x.status)
	// The server resets the stream, so that the client does not take a part for the whole.
	panic(http.ErrAbortHandler)
}

// finish completes the response and ends the exchange.
func (x *Exchange) finish() {
	x.die()
	if x.status == 0 && x.record.Status == statusClientLeft {
		// The server would answer 200 in the name of a handler that has given up.
		x.report(0)
		panic(http.ErrAbortHandler)
	}
	if x.status == 0 && x.received.Context().Err() == nil {
		x.sendHeader(http.StatusOK)
	}
	x.sendTrailers()
	x.report(x.status)
}

// report tells the record with the header that was sent.
func (x *Exchange) report(status int) {
	if x.record.Observe.Has(telemetry.ObserveHeaders) {
		x.record.ResponseHeader = x.header
	}
	x.tell(status)
}

// die ends the exchange for everybody but its own goroutine, and waits for calls that are under way, which it interrupts.
func (x *Exchange) die() {
	x.over.Store(true)
	if x.state.CompareAndSwap(0, dead) {
		return
	}
	x.idle = make(chan struct{})
	state := x.state.Or(dead)
	if state&^dead == 0 {
		return
	}
	_ = x.received.Body.Close()
	if state&writes != 0 {
		_ = http.NewResponseController(x.inner).SetWriteDeadline(time.Unix(1, 0))
	}
	<-x.idle
}

// sendHeader hands the header to the server. Only the first final status counts.
func (x *Exchange) sendHeader(status int) {
	if x.status != 0 {
		return
	}
	if x.sent == nil {
		x.sent = x.inner.Header()
	}
	clear(x.sent)
	maps.Copy(x.sent, x.header)
	if status >= http.StatusContinue && status < http.StatusOK && status != http.StatusSwitchingProtocols {
		// Of a header with a length net/http's HTTP/2 sends a copy without it; any other it reads itself, at times after it has
		// returned because the client left, and a map that is changed meanwhile ends the process.
		x.sent["Content-Length"] = nil
		x.inner.WriteHeader(status)
		return
	}
	if _, ok := x.sent["Content-Type"]; !ok {
		// What an endpoint did not say is not guessed from its bytes.
		x.sent["Content-Type"] = nil
	}
	if x.last.Load() {
		x.sent["Connection"] = []string{"close"}
	}
	x.status, x.record.Status = status, status
	x.sentFields = len(x.header)
	x.body.relax()
	x.inner.WriteHeader(status)
}

// sendTrailers hands the trailers to the server: those that were declared, and those with http.TrailerPrefix.
func (x *Exchange) sendTrailers() {
	declared := x.header["Trailer"]
	if len(declared) == 0 && len(x.header) == x.sentFields {
		return
	}
	found := false
	final := map[string][]string{}
	for name, values := range x.header {
		if strings.HasPrefix(name, http.TrailerPrefix) || httpguts.HeaderValuesContainsToken(declared, name) {
			final[name] = values
			found = found || strings.HasPrefix(name, http.TrailerPrefix)
		}
	}
	if len(final) == 0 {
		return
	}
	if found && !x.flushed {
		// The server would send a length instead of chunks, and no trailers.
		_ = http.NewResponseController(x.inner).Flush()
	}
	maps.Copy(x.inner.Header(), final)
}
