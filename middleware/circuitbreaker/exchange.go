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

// exchange is an admitted request. It is counted at the head of the response.
type exchange struct {
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
	x := &exchange{breaker: b, window: window, request: r}
	x.ResponseWriter, x.Editor = w, x
	if b.definition.expression.timed {
		x.arrived = b.now()
		if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
			x.body = &upload{ReadCloser: r.Body, breaker: b}
			r.Body = x.body.outgoing()
		}
	}
	returned := false
	defer func() {
		if !returned {
			x.brokenOff(r)
		}
	}()
	next.ServeHTTP(x, r)
	returned = true
	x.done(r)
}

// EditHead counts the response by status and latency. A timeout while the client still owes the request body is not
// counted, so that slow clients cannot trip the breaker.
func (x *exchange) EditHead(_ http.Header, status int) {
	x.begun.Store(true)
	if status == http.StatusGatewayTimeout && telemetry.RecordFrom(x.request.Context()).Excused {
		return
	}
	now := x.breaker.now()
	x.window.count(now, status)
	if x.breaker.definition.expression.timed {
		x.window.took(now, x.waited(now))
	}
	x.breaker.check(x.window, now)
}

// waited returns the time since the client sent the last piece of the request.
func (x *exchange) waited(now time.Duration) time.Duration {
	if x.body == nil {
		return now - x.arrived
	}
	return now - max(x.arrived, time.Duration(x.body.last.Load()))
}

// Hijack counts as the switch to another protocol.
func (x *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, buffers, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err == nil {
		x.Begin(http.StatusSwitchingProtocols)
	}
	return connection, buffers, err
}

// done counts a request whose handler has returned without a response: the server answers 200, unless the client has
// gone. The latter counts only if it waited longer than the maximum of the expression.
func (x *exchange) done(r *http.Request) {
	if x.begun.Load() {
		return
	}
	if r.Context().Err() == nil && telemetry.RecordFrom(r.Context()).Status != telemetry.StatusClientClosedRequest {
		x.Begin(http.StatusOK)
		return
	}
	expression := x.breaker.definition.expression
	if !expression.timed || x.body != nil {
		return
	}
	now := x.breaker.now()
	if waited := x.waited(now); waited > expression.patience {
		x.window.took(now, waited)
		x.breaker.check(x.window, now)
	}
}

// brokenOff counts a response that the endpoint did not complete. Other panics of the handler are not counted.
func (x *exchange) brokenOff(r *http.Request) {
	if !x.begun.Load() || !telemetry.RecordFrom(r.Context()).Broken {
		return
	}
	now := x.breaker.now()
	x.window.broke(now)
	x.breaker.check(x.window, now)
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
