package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Target is where and how a request is forwarded.
type Target struct {
	// Member is who shall answer.
	Member *loadbalancer.Member
	// PassHostHeader sends the client's Host header instead of the server's own.
	PassHostHeader bool
	// FlushInterval is the longest wait before written bytes are flushed to the client; negative flushes after each
	// write, 0 leaves it to the server's buffers. Responses that stream are flushed after each write in any case.
	FlushInterval time.Duration
}

// Forward sends the request to the target and writes the response to w. The outcome is about the endpoint; the error is an
// *Error, or nil when the client got the whole response. Unless its Phase is ResponseBegun nothing has been written to w but
// informational responses. After ResponseBegun the caller must abort the client's response, so that nobody takes it for
// a complete one.
//
// It writes the response's status into the telemetry.Record. It calls neither Begin nor Done of the member.
func Forward(w http.ResponseWriter, r *http.Request, target Target) (loadbalancer.Outcome, error) {
	return forward(w, r, target, telemetry.RecordFrom(r.Context()))
}

func forward(w http.ResponseWriter, r *http.Request, target Target, record *telemetry.Record) (loadbalancer.Outcome, error) {
	x := &exchange{writer: w, request: r, target: target, record: record}
	if err := x.locate(); err != nil {
		return loadbalancer.Abandoned, &Error{Phase: NothingSent, Status: http.StatusBadRequest, Err: err}
	}
	x.control = *http.NewResponseController(w)
	return x.run()
}

// exchange is one request and its response.
type exchange struct {
	writer  http.ResponseWriter
	control http.ResponseController
	request *http.Request
	target  Target
	record  *telemetry.Record
	trace   httptrace.ClientTrace
	url     url.URL
	// body is the client's body, nil without one, and cancel stops sending it.
	body   *requestBody
	cancel context.CancelFunc
	// upgrade is the protocol that the client asks to switch to.
	upgrade string
	// connected says that a connection was there, so that the endpoint may have seen the request.
	connected atomic.Bool
	flusher   flusher

	// mutex guards the writer against informational responses that come while the final one is being written.
	mutex  sync.Mutex
	final  bool
	hinted int
}

func (x *exchange) run() (loadbalancer.Outcome, error) {
	r := x.request
	x.trace.GotConn = func(httptrace.GotConnInfo) { x.connected.Store(true) }
	if r.ProtoAtLeast(1, 1) && r.Header.Get("Expect") == "" {
		// The server sends 100 Continue by itself while the body is read, which must not meet another one.
		x.trace.Got1xxResponse = x.informational
	}
	if !hasBody(r) {
		return x.trip(r.Context())
	}
	if r.ProtoMajor == 1 {
		// An endpoint may answer before it has read the body. Writers that can't do both at a time keep to their way.
		_ = x.control.EnableFullDuplex()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	x.cancel = cancel
	return x.trip(ctx)
}

// end closes the response. The exchange ends with it, whether the body has been sent or not: HTTP/2's Close waits for the
// body, whose client may wait for the end of this exchange, unless the request has been cancelled.
func (x *exchange) end(response io.Closer) {
	if x.cancel != nil {
		x.cancel()
	}
	_ = response.Close() // what there was to read has been read
}

func (x *exchange) trip(ctx context.Context) (loadbalancer.Outcome, error) {
	r := x.request
	out := x.outgoing(httptrace.WithClientTrace(ctx, &x.trace))
	response, err := x.target.Member.Upstream().RoundTripper().RoundTrip(out)
	x.mutex.Lock()
	x.final = true
	x.mutex.Unlock()
	if err != nil {
		phase := NothingSent
		if x.connected.Load() {
			phase = RequestSent
		}
		outcome, failed := failure(r.Context(), phase, x.body, err)
		return outcome, failed
	}
	defer x.end(response.Body)
	if response.StatusCode == http.StatusSwitchingProtocols {
		return x.switchProtocols(response)
	}
	if response.StatusCode < 200 || response.StatusCode > 999 {
		err := fmt.Errorf("endpoint: status %d", response.StatusCode)
		return loadbalancer.Broken, &Error{Phase: RequestSent, Status: http.StatusBadGateway, Err: err}
	}
	return x.respond(response)
}

// maxInformational bounds what an endpoint may send before its response.
const maxInformational = 32

var errInformational = errors.New("more than 32 informational responses")

// informational forwards a 1xx response. 100 concerns the hop to the endpoint only. The transport calls it, at times
// from a goroutine of its own and late.
func (x *exchange) informational(code int, header textproto.MIMEHeader) error {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.final {
		return nil
	}
	if x.hinted++; x.hinted > maxInformational {
		return errInformational
	}
	if code == http.StatusContinue {
		return nil
	}
	hints := http.Header(maps.Clone(header))
	canonical.RemoveHopByHop(hints, nil)
	delete(hints, "Connection")
	delete(hints, "Upgrade")
	delete(hints, "Content-Length")
	// The writer's headers are those of the final response: they wait.
	own := x.writer.Header()
	waiting := maps.Clone(own)
	clear(own)
	maps.Copy(own, hints)
	x.writer.WriteHeader(code)
	clear(own)
	maps.Copy(own, waiting)
	return nil
}
