package forward

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/wire"
	http2 "github.com/sluiceproxy/sluice/http2/client"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// target is where and how a request is forwarded.
type target struct {
	// Member is the endpoint's member of the pool.
	Member *loadbalancer.Member
	// PassHostHeader sends the client's Host header instead of the server's own.
	PassHostHeader bool
	// FlushInterval is the longest wait before written bytes are flushed to the client; negative flushes after each
	// write, 0 leaves it to the server's buffers. Responses that stream are flushed after each write in any case.
	FlushInterval time.Duration
}

// attempt is one request to an endpoint and its response.
type attempt struct {
	writer  http.ResponseWriter
	control http.ResponseController
	request *http.Request
	target  target
	record  *telemetry.Record
	url     url.URL
	// out is the request to the endpoint, call what sends it over HTTP/1.1, and stream what sends it over HTTP/2, or nil.
	out    http.Request
	call   client.RoundTrip
	stream *http2.RoundTrip
	// body is the client's body, nil without one.
	body *requestBody
	// replayBody is the body for all attempts, limit bounds the time of this one; nil without.
	replayBody *replay.Body
	limit      *limit
	// breaker interrupts a read of the client's body; nil until that is needed.
	breaker *breaker
	// state is the position among the attempts of a service.
	state attemptState
	// upgrade is the value of the client's Upgrade field.
	upgrade string
	flusher flusher

	// inform is the method value of informational, kept when the attempt is recycled.
	inform func(code int, hints http.Header) error
	// relay is the writer if it takes fields as a list and no signal needs them as a map; list is the recycled memory
	// of that list.
	relay fieldsWriter
	list  []wire.Field
	// line is the memory of the Traceparent field.
	line [len(traceName) + telemetry.TraceparentLength + len("\r\n")]byte
	// mutex guards the writer against informational responses that come while the final one is being written.
	mutex  sync.Mutex
	final  bool
	hinted int
	// relayed says that the client got an informational response.
	relayed bool
}

// listedFields is the initial capacity of an attempt's list of response fields.
const listedFields = 24

// fieldsWriter is a writer that takes the fields of a response as a list, without a map.
type fieldsWriter interface {
	WriteFields(status int, fields []wire.Field)
}

// run sends the request to the target and writes the response to the writer. The outcome is about the endpoint; the
// error is an *Error, errGaveWay, or nil when the client got the whole response. Unless the Error's Phase is
// ResponseBegun nothing has been written but informational responses. After ResponseBegun the caller must abort the
// client's response, so that it is not taken for a complete one.
//
// It writes the response's status into the telemetry.Record. It does not call Done of the member.
func (a *attempt) run() (loadbalancer.Outcome, error) {
	if err := a.locate(); err != nil {
		return loadbalancer.Abandoned, &Error{Phase: NothingSent, Status: http.StatusBadRequest, Err: err}
	}
	a.control = *http.NewResponseController(a.writer)
	r, t := a.request, &a.state
	if hasBody(r) && r.ProtoMajor == 1 {
		// An endpoint may answer before it has read the body. Writers without full duplex keep their order.
		_ = a.control.EnableFullDuplex()
	}
	response, err := a.send(a.outgoing())
	a.mutex.Lock()
	a.final = true
	a.mutex.Unlock()
	defer a.end(response)
	if a.limit != nil && !a.limit.stop() {
		err = errTryTime
	}
	if err != nil {
		phase := NothingSent
		if a.sent() {
			phase = RequestSent
		}
		clear(a.call.Header)
		outcome, failed := a.failure(phase, err)
		return outcome, failed
	}
	t.headed, t.result.Status, a.record.OriginStatus = true, response.StatusCode, response.StatusCode
	if !t.start.IsZero() && (a.body == nil || a.alone()) {
		// The latency counts only if the client had sent the whole request before.
		t.result.Latency = max(time.Since(t.start), 1)
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return a.switchProtocols(response)
	}
	if response.StatusCode < 200 || response.StatusCode > 999 {
		return loadbalancer.Broken, &Error{
			Phase: RequestSent, Status: http.StatusBadGateway, Err: statusError(response.StatusCode),
		}
	}
	if t.policy != nil && t.policy.Status.Contains(response.StatusCode) {
		if a.givesWay() {
			clear(a.call.Header)
			return loadbalancer.Answered, errGaveWay
		}
		if t.ended != nil { // The request ended during the backoff: its time is over, whatever the attempt got.
			clear(a.call.Header)
			return loadbalancer.Answered, &Error{Phase: RequestSent, Status: http.StatusGatewayTimeout, Err: t.ended}
		}
	}
	return a.respond(response)
}

// send sends the request and returns the head of the response.
func (a *attempt) send(out *http.Request) (*http.Response, error) {
	if a.state.policy != nil && a.state.policy.PerTry > 0 {
		out = a.limited(out)
	}
	trips := a.target.Member.Upstream().RoundTripper()
	if a.hints() {
		if a.inform == nil {
			a.inform = a.informational
		}
		a.call.Informational = a.inform
	}
	if a.body != nil {
		a.call.Interrupt = a.interrupt
	}
	if header := a.writer.Header(); len(header) == 0 {
		a.call.Header = header
		if list, ok := a.writer.(fieldsWriter); ok && !a.record.Observe.Has(telemetry.ObserveHeaders) {
			if a.list == nil {
				a.list = make([]wire.Field, 0, listedFields)
			}
			a.relay, a.call.List = list, a.list
		}
	}
	return trips.Send(&a.call, out, a)
}

// hints reports whether informational responses are forwarded. With Expect the server itself sends 100 Continue
// when the body is read, and a second one must not follow.
func (a *attempt) hints() bool {
	return a.request.ProtoAtLeast(1, 1) && a.request.Header.Get("Expect") == ""
}

// SendShared sends the request over HTTP/2.
func (a *attempt) SendShared(through *http2.Upstream, out *http.Request) (*http.Response, error) {
	stream, recycled := a.state.service.memory.streams.Get().(*http2.RoundTrip)
	if !recycled {
		stream = new(http2.RoundTrip)
	}
	stream.Options = a.call.Options
	a.stream = stream
	response, err := through.Do(stream, out)
	if err == http2.ErrNotHTTP2 { //nolint:errorlint // as Do returns it
		a.stream = nil // It goes over HTTP/1.1.
	}
	return response, err
}

// sent reports whether the endpoint may have processed a part of the request.
func (a *attempt) sent() bool {
	if a.stream != nil {
		return a.stream.Sent()
	}
	return a.call.Sent()
}

// alone reports whether nothing of the exchange ever ran on another goroutine.
func (a *attempt) alone() bool {
	if a.stream != nil {
		return a.stream.Alone()
	}
	return a.call.Alone()
}

// fields returns the fields of the response, or nil where they are in its header.
func (a *attempt) fields() []wire.Field {
	if a.stream != nil {
		return a.stream.Fields()
	}
	return a.call.Fields()
}

// hopByHop reports whether the response has fields that concern one connection only.
func (a *attempt) hopByHop() bool {
	if a.stream != nil {
		return a.stream.HopByHop()
	}
	return a.call.HopByHop()
}

// retryInterrupt is the interval at which an interrupt is repeated, as the deadline may have been changed
// meanwhile.
const retryInterrupt = 10 * time.Millisecond

// interrupt ends reading of the client's body when the rest is not needed. Where another attempt may need it, a
// pending read goes on, and interrupt returns false.
func (a *attempt) interrupt() bool {
	if !a.body.halt() {
		return true
	}
	if a.mayGiveWay() {
		return false
	}
	a.replayBody.Interrupt()
	a.breaker = new(breaker)
	a.breaker.breakOff(a)
	return true
}

// breaker makes a Read of the client's body fail. The server then can't find the start of the next request on
// the connection, so it is used only for a pending read.
type breaker struct {
	mutex sync.Mutex
	ended bool
}

func (b *breaker) breakOff(a *attempt) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.ended || !a.replayBody.Reading() {
		return
	}
	if a.control.SetReadDeadline(time.Unix(1, 0)) != nil {
		_ = a.request.Body.Close() // the only other way to end the read
	}
	time.AfterFunc(retryInterrupt, func() { b.breakOff(a) })
}

// end stops the breaker before the handler returns.
func (b *breaker) end() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.ended = true
}

// end closes the response and ends the attempt.
func (a *attempt) end(response *http.Response) {
	if a.limit != nil {
		a.limit.cancel(nil)
	}
	if response != nil {
		_ = response.Body.Close() // what there was to read has been read
	}
	if a.breaker != nil {
		a.breaker.end()
	}
}

// maxInformational bounds how many informational responses an endpoint may send.
const maxInformational = 32

var errInformational = errors.New("more than 32 informational responses")

// informational forwards a 1xx response with its own header. 100 is hop-by-hop and dropped.
func (a *attempt) informational(code int, hints http.Header) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.final {
		return nil
	}
	if a.hinted++; a.hinted > maxInformational {
		return errInformational
	}
	if code == http.StatusContinue {
		return nil
	}
	forwarded.RemoveHopByHop(hints, nil)
	delete(hints, "Connection")
	delete(hints, "Upgrade")
	delete(hints, "Content-Length")
	a.relayed = true
	// The writer's header belongs to the final response: it is put aside meanwhile.
	own := a.writer.Header()
	waiting := maps.Clone(own)
	clear(own)
	maps.Copy(own, hints)
	a.writer.WriteHeader(code)
	clear(own)
	maps.Copy(own, waiting)
	return nil
}
