package circuitbreaker

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware/response"
	"github.com/sluiceproxy/sluice/telemetry"
)

// responseWriter is the writer of an admitted request. It counts the request at the head of the response.
type responseWriter struct {
	response.Writer
	breaker *breaker
	window  *window
	request *http.Request
	// arrived is when the request, or the last piece of its body, arrived; used for latencies only.
	arrived time.Duration
	body    *upload
	// begun is set when the response, or the switch to another protocol, has begun.
	begun atomic.Bool
}

// serve calls next and counts the result.
func (b *breaker) serve(w http.ResponseWriter, r *http.Request, next http.Handler, window *window) {
	counted := &responseWriter{breaker: b, window: window, request: r}
	counted.ResponseWriter, counted.Editor = w, counted
	if b.definition.expression.timed {
		counted.arrived = b.now()
		if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
			counted.body = &upload{ReadCloser: r.Body, breaker: b}
			r.Body = counted.body.outgoing()
		}
	}
	returned := false
	defer func() {
		if !returned {
			counted.brokenOff(r)
		}
	}()
	next.ServeHTTP(counted, r)
	returned = true
	counted.done(r)
}

// EditHead counts the response by status and latency. A timeout while the client still owes the request body is not
// counted, so that slow clients cannot trip the breaker.
func (w *responseWriter) EditHead(_ http.Header, status int) {
	w.begun.Store(true)
	if status == http.StatusGatewayTimeout && telemetry.RecordFrom(w.request.Context()).Excused {
		return
	}
	now := w.breaker.now()
	w.window.count(now, status)
	if w.breaker.definition.expression.timed {
		w.window.took(now, w.waited(now))
	}
	w.breaker.check(w.window, now)
}

// waited returns the time since the client sent the last piece of the request.
func (w *responseWriter) waited(now time.Duration) time.Duration {
	if w.body == nil {
		return now - w.arrived
	}
	return now - max(w.arrived, time.Duration(w.body.last.Load()))
}

// Hijack counts as the switch to another protocol.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, buffers, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.Begin(http.StatusSwitchingProtocols)
	}
	return connection, buffers, err
}

// done counts a request whose handler has returned without a response: the server answers 200, unless the client has
// gone. The latter counts only if it waited longer than the maximum of the expression.
func (w *responseWriter) done(r *http.Request) {
	if w.begun.Load() {
		return
	}
	if r.Context().Err() == nil && telemetry.RecordFrom(r.Context()).Status != telemetry.StatusClientClosedRequest {
		w.Begin(http.StatusOK)
		return
	}
	expression := w.breaker.definition.expression
	if !expression.timed || w.body != nil {
		return
	}
	now := w.breaker.now()
	if waited := w.waited(now); waited > expression.patience {
		w.window.took(now, waited)
		w.breaker.check(w.window, now)
	}
}

// brokenOff counts a response that the endpoint did not complete. Other panics of the handler are not counted.
func (w *responseWriter) brokenOff(r *http.Request) {
	if !w.begun.Load() || !telemetry.RecordFrom(r.Context()).Broken {
		return
	}
	now := w.breaker.now()
	w.window.broke(now)
	w.breaker.check(w.window, now)
}

// upload is a request body that records when data arrived.
type upload struct {
	io.ReadCloser
	breaker *breaker
	last    atomic.Int64
}

// readyUpload is the upload of a body that supports reading without waiting.
type readyUpload struct {
	*upload
	httpio.ReadyReader
}

// outgoing returns the body with the capabilities of the original.
func (u *upload) outgoing() io.ReadCloser {
	if now, ok := u.ReadCloser.(httpio.ReadyReader); ok {
		return readyUpload{u, noted{u, now}}
	}
	return u
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.last.Store(int64(u.breaker.now()))
	return n, err
}

// noted records data that was read without waiting.
type noted struct {
	upload *upload
	now    httpio.ReadyReader
}

func (d noted) ReadNow(p []byte) (int, error) {
	n, err := d.now.ReadNow(p)
	if n > 0 || err != nil {
		d.upload.last.Store(int64(d.upload.breaker.now()))
	}
	return n, err
}

// ReadsStatus implements httpio.StatusReader.
func (*responseWriter) ReadsStatus() {}
