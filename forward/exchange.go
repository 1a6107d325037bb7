package forward

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/http1"
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
// It writes the response's status into the telemetry.Record. It does not call Done of the member.
func Forward(w http.ResponseWriter, r *http.Request, target Target) (loadbalancer.Outcome, error) {
	return forward(w, r, target, telemetry.RecordFrom(r.Context()))
}

func forward(w http.ResponseWriter, r *http.Request, target Target, record *telemetry.Record) (loadbalancer.Outcome, error) {
	x := &exchange{writer: w, request: r, target: target, record: record}
	return x.serve()
}

func (x *exchange) serve() (loadbalancer.Outcome, error) {
	if err := x.locate(); err != nil {
		return loadbalancer.Abandoned, &Error{Phase: NothingSent, Status: http.StatusBadRequest, Err: err}
	}
	x.control = *http.NewResponseController(x.writer)
	return x.run()
}

// exchange is one request and its response.
type exchange struct {
	writer  http.ResponseWriter
	control http.ResponseController
	request *http.Request
	target  Target
	record  *telemetry.Record
	url     url.URL
	// out is the request to the endpoint, call what sends it over HTTP/1.1.
	out  http.Request
	call http1.Call
	// body is the client's body, nil without one, and cancel stops sending it over HTTP/2.
	body   *requestBody
	cancel context.CancelFunc
	// source is what all tries read the body from, limit what bounds this one; nil without.
	source *source
	limit  *limit
	// breaker interrupts who waits for the client; nil as long as nobody had to be.
	breaker *breaker
	// trial is what the exchange is as one of several tries.
	trial trial
	// upgrade is the protocol that the client asks to switch to.
	upgrade string
	// connected says that an HTTP/2 connection was there, so that the endpoint may have seen the request.
	connected atomic.Bool
	// heard says that something of a response came over HTTP/2, interim that it was an informational one and the head is awaited.
	heard, interim atomic.Bool
	flusher        flusher

	// inform is the method informational, as a value that outlives recycling.
	inform func(code int, hints http.Header) error
	// relay is the writer where it takes fields as a list, and list the memory of that.
	relay relay
	list  []http1.Field
	// line is the memory of the field that tells of the trace.
	line [len(traceName) + telemetry.TraceparentLength + len("\r\n")]byte
	// mutex guards the writer against informational responses that come while the final one is being written.
	mutex  sync.Mutex
	final  bool
	hinted int
	// relayed says that the client got one of them.
	relayed bool
}

// listedFields is how many fields of a response have room in the list of an exchange.
const listedFields = 24

// relay is a writer that takes the fields of a response as they came, without a map.
type relay interface {
	WriteFields(status int, fields []http1.Field)
}

// settled reports whether nobody keeps a part of the exchange that has ended, or of the client's request: it was one of HTTP/1.1 whose body,
// if any, was at hand, and no timer was started.
func (x *exchange) settled() bool {
	return x.direct() && x.call.Alone() && x.upgrade == "" && x.flusher.timer == nil
}

func (x *exchange) run() (loadbalancer.Outcome, error) {
	r := x.request
	if hasBody(r) && r.ProtoMajor == 1 {
		// An endpoint may answer before it has read the body. Writers that can't do both at a time keep to their way.
		_ = x.control.EnableFullDuplex()
	}
	response, err := x.send(x.outgoing())
	x.mutex.Lock()
	x.final = true
	x.mutex.Unlock()
	defer x.end(response)
	if x.limit != nil && !x.limit.stop() {
		err = errTryTime
	}
	if err != nil {
		phase := NothingSent
		if x.call.Sent() || x.connected.Load() && !unprocessed(err) {
			phase = RequestSent
		}
		clear(x.call.Header)
		outcome, failed := x.failure(phase, err)
		return outcome, failed
	}
	x.answered(response.StatusCode)
	if response.StatusCode == http.StatusSwitchingProtocols {
		return x.switchProtocols(response)
	}
	if response.StatusCode < 200 || response.StatusCode > 999 {
		err := fmt.Errorf("endpoint: status %d", response.StatusCode)
		return loadbalancer.Broken, &Error{Phase: RequestSent, Status: http.StatusBadGateway, Err: err}
	}
	if x.givesWay(response.StatusCode) {
		clear(x.call.Header)
		return loadbalancer.Answered, errGaveWay
	}
	return x.respond(response)
}

// send sends the request and returns the head of the response.
func (x *exchange) send(out *http.Request) (*http.Response, error) {
	if x.trial.policy != nil && x.trial.policy.PerTry > 0 {
		out = x.limited(out)
	}
	trips := x.target.Member.Upstream().RoundTripper()
	own, ok := trips.(*connections)
	if !ok {
		return x.traced(trips, out)
	}
	if x.hints() {
		if x.inform == nil {
			x.inform = x.informational
		}
		x.call.Informational = x.inform
	}
	if x.body != nil {
		x.call.Interrupt = x.interrupt
	}
	if header := x.writer.Header(); len(header) == 0 && own.multiplexed == nil {
		x.call.Header = header
		if x.relay = x.relaying(); x.relay != nil {
			if x.list == nil {
				x.list = make([]http1.Field, 0, listedFields)
			}
			x.call.List = x.list
		}
	}
	return own.send(&x.call, out, x.traced)
}

// relaying returns the writer if it takes a list of fields, and nobody wants to see them as a map.
func (x *exchange) relaying() relay {
	if x.record.Observe.Has(telemetry.ObserveHeaders) {
		return nil
	}
	list, _ := x.writer.(relay)
	return list
}

// hints reports whether the client gets informational responses. The server sends 100 Continue by itself while the body
// is read, which must not meet another one.
func (x *exchange) hints() bool {
	return x.request.ProtoAtLeast(1, 1) && x.request.Header.Get("Expect") == ""
}

// traced sends the request through net/http, whose trace tells how far it got.
func (x *exchange) traced(trips http.RoundTripper, out *http.Request) (*http.Response, error) {
	ctx := out.Context()
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.connected.Store(true) }}
	if x.body != nil {
		ctx, x.cancel = context.WithCancel(ctx)
		x.body.stuck = x.giveUpBody
		trace.GotFirstResponseByte = func() { x.heard.Store(true) }
	}
	informs := x.hints()
	trace.Got1xxResponse = func(status int, header textproto.MIMEHeader) error {
		x.interim.Store(true)
		if !informs {
			return nil
		}
		return x.informational(status, http.Header(maps.Clone(header)))
	}
	response, err := trips.RoundTrip(out.WithContext(httptrace.WithClientTrace(ctx, trace)))
	x.interim.Store(false)
	return response, err
}

// hesitation is how long a round trip whose body was closed after an informational response has to return by itself.
const hesitation = time.Second

// giveUpBody is for the end of a stream or its connection: HTTP/2's transport closes the body then, and waits for a Read that may last as
// long as the client likes. It also closes the body when a response makes the rest of no use, and goes on; after an informational response
// nothing but time tells which it was.
func (x *exchange) giveUpBody() {
	switch {
	case !x.heard.Load():
		x.cancel()
	case x.interim.Load():
		time.AfterFunc(hesitation, func() {
			if x.interim.Load() {
				x.cancel()
			}
		})
	}
}

// retryInterrupt is how soon a wait for the client is interrupted again, whose deadline somebody has moved meanwhile.
const retryInterrupt = 10 * time.Millisecond

// interrupt ends reading of the client's body, which nobody wants the rest of. Where another try may want it, who waits for the client
// is left to wait, and false returned.
func (x *exchange) interrupt() bool {
	if !x.body.halt() {
		return true
	}
	if x.mayGiveWay() {
		return false
	}
	x.source.interrupted.Store(true)
	x.breaker = new(breaker)
	x.breaker.breakOff(x)
	return true
}

// breaker makes a Read of the client's body fail. A server can't tell any more where the next request begins after that, so it is done
// only where somebody waits.
type breaker struct {
	mutex sync.Mutex
	ended bool
}

func (b *breaker) breakOff(x *exchange) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.ended || !x.source.reading.Load() {
		return
	}
	if x.control.SetReadDeadline(time.Unix(1, 0)) != nil {
		_ = x.request.Body.Close() // there is no other way to reach who waits
	}
	time.AfterFunc(retryInterrupt, func() { b.breakOff(x) })
}

// end keeps the breaker from the writer after the handler's return.
func (b *breaker) end() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.ended = true
}

// end closes the response. The exchange ends with it, whether the body has been sent or not: HTTP/2's Close waits for the
// body, whose client may wait for the end of this exchange, unless the request has been cancelled.
func (x *exchange) end(response *http.Response) {
	if x.cancel != nil {
		x.cancel()
	}
	if x.limit != nil {
		x.limit.cancel(nil)
	}
	if response != nil {
		_ = response.Body.Close() // what there was to read has been read
	}
	if x.breaker != nil {
		x.breaker.end()
	}
}

// maxInformational bounds what an endpoint may send before its response.
const maxInformational = 32

var errInformational = errors.New("more than 32 informational responses")

// informational forwards a 1xx response, whose headers are its own. 100 concerns the hop to the endpoint only. HTTP/2's
// transport calls it from a goroutine of its own, at times late.
func (x *exchange) informational(code int, hints http.Header) error {
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
	canonical.RemoveHopByHop(hints, nil)
	delete(hints, "Connection")
	delete(hints, "Upgrade")
	delete(hints, "Content-Length")
	x.relayed = true
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
