package entrypoint

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio/serving"
	"github.com/sluiceproxy/sluice/httpio/websocket"
	"github.com/sluiceproxy/sluice/telemetry"
)

// streamRequest is one request of HTTP/3, which is one stream, with its response: the http.ResponseWriter,
// body, context and record of the request in one. It guards the writer and body of the server: once the handler has
// returned, every call fails or does nothing, and reaches no other request, whatever goroutines the handler left
// behind. It is never used again.
//
// While the handler runs, the rules of http.ResponseWriter hold: one goroutine at a time writes, one reads.
type streamRequest struct {
	requestState
	scope requestContext
	// request is what the handler sees.
	request http.Request
	guard   serving.Guard
	// idle is closed by the last call that was under way when the handler returned.
	idle chan struct{}

	inner    http.ResponseWriter
	received *http.Request
	// header is what the handler writes to; sent is the server's own map, which the handler never gets.
	header http.Header
	sent   http.Header
	// status is the status code that was handed to the server; 0 before that. It is apart from the record's, which
	// others may set before they write.
	status int
	// sentFields is how many fields header had when it was sent.
	sentFields int
	flushed    bool
	// upgrades says that the request opens a WebSocket (RFC 9220), hijacked that the handler has the stream.
	upgrades, hijacked bool
	// last says that the connection ends with this response.
	last bool
	// buffered is how many bytes of the body wait in the buffer of the server's writer.
	buffered int

	body body
}

// serveStream is the handler of HTTP/3.
func (c *chain) serveStream(w http.ResponseWriter, r *http.Request) {
	x := &streamRequest{inner: w, received: r}
	x.upgrades = len(r.Header["Upgrade"]) > 0 // quic-go refuses the field of others.
	x.open(c.entrypoint, r)
	if c := x.connection; c != nil && r.RemoteAddr != c.address {
		// The client of HTTP/3 has moved to another path (RFC 9000, section 9), which it has proven.
		x.client, _ = forwarded.ClientAddr(r.RemoteAddr)
		x.record.Client, x.record.ClientPort = x.client.String(), portOf(r.RemoteAddr)
	}
	x.seen = forwarded.Seen{HopByHop: true, Extended: true}
	x.scope = requestContext{Context: r.Context(), state: &x.requestState}
	x.request = *r.WithContext(&x.scope)
	x.request.Body = x.guardBody()
	x.serve()
}

// leaveRead and leaveWrite end calls.
func (x *streamRequest) leaveRead() {
	if x.guard.EndRead() {
		close(x.idle)
	}
}

func (x *streamRequest) leaveWrite() {
	if x.guard.EndWrite() {
		close(x.idle)
	}
}

// serve runs the handler and ends the request.
func (x *streamRequest) serve() {
	completed := false
	defer func() {
		if completed {
			x.finish()
			return
		}
		x.failed(recover())
	}()
	x.entrypoint.chain.admit(&x.requestState, x, &x.request)
	completed = true
}

// failed ends an request whose handler has panicked, or has ended its goroutine.
func (x *streamRequest) failed(cause any) {
	aborted := cause == http.ErrAbortHandler //nolint:errorlint // net/http compares the value of a panic the same way.
	if !aborted {
		x.panicked(cause, debug.Stack())
		if x.status == 0 && !x.hijacked {
			clear(x.Header())
			http.Error(x, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			x.finish()
			return
		}
	}
	x.die()
	x.unsend()
	x.report(x.status)
	// The server resets the stream, so that the client does not take a part for the whole.
	panic(http.ErrAbortHandler)
}

// finish completes the response and ends the request.
func (x *streamRequest) finish() {
	x.die()
	if x.status == 0 && x.record.Status == statusClientLeft {
		// The server would answer 200 in the name of a handler that has given up.
		x.report(0)
		panic(http.ErrAbortHandler)
	}
	if x.hijacked {
		x.report(http.StatusOK)
		return
	}
	if x.status == 0 && x.received.Context().Err() == nil {
		x.sendHeader(http.StatusOK)
	}
	x.sendTrailers()
	x.report(x.status)
}

// report completes the record, with the header that was sent.
func (x *streamRequest) report(status int) {
	if x.record.Observe.Has(telemetry.ObserveHeaders) {
		x.record.ResponseHeader = x.header
	}
	if x.left = x.context.Err() != nil; x.left {
		x.unsend()
	}
	x.submit(status)
}

// unsend takes what the server will not send any more out of the record.
func (x *streamRequest) unsend() {
	x.record.BytesSent -= int64(x.buffered)
	x.buffered = 0
}

// die ends the request for all other goroutines, interrupts their calls, and waits for those.
func (x *streamRequest) die() {
	defer x.body.stop()
	x.over.Store(true)
	if x.guard.EndIdle() {
		return
	}
	x.idle = make(chan struct{})
	under := x.guard.End()
	if !under.Any() {
		return
	}
	_ = x.received.Body.Close()
	if under.Writes {
		_ = http.NewResponseController(x.inner).SetWriteDeadline(time.Unix(1, 0))
	}
	<-x.idle
}

// sendHeader hands the header to the server. Only the first final status counts.
func (x *streamRequest) sendHeader(status int) {
	if x.status != 0 || x.hijacked {
		return
	}
	if x.sent == nil {
		x.sent = x.inner.Header()
	}
	clear(x.sent)
	maps.Copy(x.sent, x.header)
	if status >= http.StatusContinue && status < http.StatusOK && status != http.StatusSwitchingProtocols {
		// The length is that of the final response.
		x.sent["Content-Length"] = nil
		x.inner.WriteHeader(status)
		return
	}
	if _, ok := x.sent["Content-Type"]; !ok {
		// The server must not detect a type that the endpoint did not set.
		x.sent["Content-Type"] = nil
	}
	if x.last {
		x.sent["Connection"] = []string{"close"}
	}
	if x.upgrades {
		status = websocket.Unopened(status) // as the server does
	}
	x.status, x.record.Status = status, status
	x.sentFields = len(x.header)
	x.body.relax()
	x.inner.WriteHeader(status)
}

// sendTrailers hands the trailers to the server: those that were declared, and those with http.TrailerPrefix.
func (x *streamRequest) sendTrailers() {
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

// smallBody is below what size quic-go holds a body back.
const smallBody = 4 << 10

// copyBytes is how much ReadFrom copies at a time.
const copyBytes = 32 << 10

// Header returns the header of the response. After the end of the request it is a new map without effect.
func (x *streamRequest) Header() http.Header {
	if !x.guard.Open() {
		return http.Header{}
	}
	if x.header == nil {
		x.header = make(http.Header, 8)
	}
	return x.header
}

// CloseAfter ends the connection with this response. It is for the time before the handler.
func (x *streamRequest) CloseAfter() { x.last = true }

// WriteHeader sends the header. The first status of 200 or more, or 101, is the response's; others before it are
// informational (RFC 9110, section 15.2), and calls after it do nothing, as do impossible ones.
func (x *streamRequest) WriteHeader(status int) {
	if status < 100 || status > 999 || !x.guard.Write() {
		return
	}
	defer x.leaveWrite()
	x.sendHeader(status)
}

// Write sends a part of the body.
func (x *streamRequest) Write(p []byte) (int, error) {
	if !x.guard.Write() {
		return 0, ErrFinished
	}
	defer x.leaveWrite()
	if x.hijacked {
		return 0, http.ErrHijacked
	}
	x.sendHeader(http.StatusOK)
	n, err := x.inner.Write(p)
	x.sentBytes(n)
	return n, err
}

// WriteString sends a part of the body.
func (x *streamRequest) WriteString(s string) (int, error) {
	if !x.guard.Write() {
		return 0, ErrFinished
	}
	defer x.leaveWrite()
	if x.hijacked {
		return 0, http.ErrHijacked
	}
	x.sendHeader(http.StatusOK)
	n, err := io.WriteString(x.inner, s)
	x.sentBytes(n)
	return n, err
}

// sentBytes counts bytes of the body, and those that the server holds back: a small body, until it is flushed or the
// handler returns.
func (x *streamRequest) sentBytes(n int) {
	if x.received.Method == http.MethodHead {
		return
	}
	x.record.BytesSent += int64(n)
	if x.buffered += n; x.flushed || x.record.BytesSent >= smallBody {
		x.buffered = 0
	}
}

// ReadFrom sends what source has to say. It never waits for source in the server's own code, so that a source that is
// silent does not keep the request from ending.
func (x *streamRequest) ReadFrom(source io.Reader) (int64, error) {
	pool := &x.entrypoint.chain.buffers
	buffer, ok := pool.Get().(*[copyBytes]byte)
	if !ok {
		buffer = new([copyBytes]byte)
	}
	defer pool.Put(buffer)
	// Without ReadFrom of its own, so that io.CopyBuffer uses the buffer.
	return io.CopyBuffer(struct{ io.Writer }{x}, struct{ io.Reader }{source}, buffer[:])
}

// Flush sends what has been written so far.
func (x *streamRequest) Flush() { _ = x.FlushError() }

// FlushError sends what has been written so far.
func (x *streamRequest) FlushError() error {
	if !x.guard.Write() {
		return ErrFinished
	}
	defer x.leaveWrite()
	if x.hijacked {
		return http.ErrHijacked
	}
	x.sendHeader(http.StatusOK)
	x.flushed, x.buffered = true, 0
	return http.NewResponseController(x.inner).Flush()
}

// Hijack hands over the stream of a WebSocket (RFC 9220), which ends with the handler.
func (x *streamRequest) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !x.guard.Write() {
		return nil, nil, ErrFinished
	}
	defer x.leaveWrite()
	conn, buffers, err := http.NewResponseController(x.inner).Hijack()
	x.hijacked = x.hijacked || err == nil
	return conn, buffers, err
}

// EnableFullDuplex allows to read the body after the response has begun. It always is allowed here.
func (x *streamRequest) EnableFullDuplex() error {
	if !x.guard.Open() {
		return ErrFinished
	}
	return nil
}

// SetReadDeadline sets until when the body is waited for, in place of respondingTimeouts.readTimeout.
func (x *streamRequest) SetReadDeadline(deadline time.Time) error {
	if !x.guard.Read() {
		return ErrFinished
	}
	defer x.leaveRead()
	x.body.relax()
	return http.NewResponseController(x.inner).SetReadDeadline(deadline)
}

// SetWriteDeadline sets until when the response may be written, in place of respondingTimeouts.writeTimeout.
func (x *streamRequest) SetWriteDeadline(deadline time.Time) error {
	if !x.guard.Write() {
		return ErrFinished
	}
	defer x.leaveWrite()
	return http.NewResponseController(x.inner).SetWriteDeadline(deadline)
}

// requestContext is the context of a request of HTTP/3. It answers for the request itself, instead of a context that
// wraps another.
type requestContext struct {
	context.Context //nolint:containedctx // It is the server's, with which this one ends.
	state           *requestState
}

// AfterFunc calls f in a goroutine of its own after the end of the context, unless stop is called before. Package
// context uses it, so that contexts that are derived cost no goroutine.
func (s *requestContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(s.Context, f)
}

// Value returns the values of the request, and otherwise those of the server's context.
func (s *requestContext) Value(key any) any {
	if value := s.state.Value(key); value != nil {
		return value
	}
	return s.Context.Value(key)
}
