package service

import (
	"context"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/telemetry"
)

// FailoverOptions are the options of a failover service.
type FailoverOptions struct {
	// Main answers while it is up, Fallback otherwise.
	Main     Child
	Fallback Child
	// Status are the codes of Main's responses that are discarded: Fallback answers instead (errors.status). If
	// empty, Fallback is used only when Main is down.
	Status dynamic.StatusCodes
	// MaxBody is how many bytes of a request body are buffered for Fallback (errors.maxRequestBodyBytes);
	// negative sets no limit but that of Memory. It has no effect without Status.
	MaxBody int64
	// Memory bounds the buffered bodies of all services.
	Memory *replay.Memory
}

// Failover answers with its main service while that is up, and otherwise with its fallback.
//
// It can also use the fallback when the main service has answered with certain status codes. Nothing of such a
// response reaches the client, informational responses included. All others are passed on as they arrive,
// except informational responses, which wait for the final status. The fallback gets the original request with
// its whole body: what the main service has read is buffered up to a limit, and the rest is read from the
// client. If more was read than the limit, the main service's response is passed on, whatever its status. A
// response that switches protocols is passed on too.
type Failover struct{ options FailoverOptions }

// NewFailover returns the handler of a failover service.
func NewFailover(options FailoverOptions) *Failover { return &Failover{options: options} }

// Up reports whether the main service or the fallback is up.
func (f *Failover) Up() bool { return f.options.Main.up() || f.options.Fallback.up() }

// ServeHTTP answers with the main service or with the fallback. When both are down the fallback answers.
func (f *Failover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !f.options.Main.up():
		f.options.Fallback.Handler.ServeHTTP(w, r)
	case f.options.Status.Empty():
		f.options.Main.Handler.ServeHTTP(w, r)
	case f.options.MaxBody >= 0 && r.ContentLength > f.options.MaxBody:
		// The fallback could not get the whole body.
		f.options.Main.Handler.ServeHTTP(w, r)
	default:
		f.try(w, r)
	}
}

const (
	// drainTime bounds how long a discarded response is read, so that its connection can be reused.
	drainTime = time.Second
	// restTime is the read deadline for the rest of a body whose reading was interrupted.
	restTime = time.Minute
)

// try runs the main service, and the fallback if that response is discarded.
func (f *Failover) try(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	before := *record
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	attempt := r.Clone(ctx)
	attempt.Body, attempt.Trailer = r.Body, r.Trailer // the server fills in trailers later
	s := newResponseInterceptor(w, &f.options.Status, cancel)
	if hasBody(r) {
		attempt.Body, s.body = f.body(r)
		defer s.body.Release()
	}
	if !s.serve(f.options.Main.Handler, attempt) {
		return
	}
	if r.Context().Err() != nil {
		record.Status, record.Code, record.Reason = telemetry.StatusClientClosedRequest, telemetry.CodeClientLeft,
			"the client left"
		return
	}
	cancel() // Main has returned.
	released := record.Released
	record.Service, record.Endpoint, record.Code, record.Reason = before.Service, before.Endpoint, before.Code,
		before.Reason
	record.EndpointURL, record.OriginStatus, record.OriginBytes, record.OriginHeader = "", 0, 0, nil
	record.Environment, record.EnvironmentReason = before.Environment, before.EnvironmentReason
	record.Authenticated = before.Authenticated // A middleware of the main service does not count for the fallback.
	record.Status, record.Released = before.Status, false
	f.fall(w, r, s)
	record.Released = record.Released && released
}

// body returns the body for the main service, and what buffers it for the fallback.
func (f *Failover) body(r *http.Request) (*replay.Reader, *replay.Body) {
	body, reader := new(replay.Body), new(replay.Reader)
	body.Init(r.Body, r.ContentLength, f.options.MaxBody, f.options.Memory)
	body.Open(reader)
	if _, ready := r.Body.(httpio.ReadyReader); r.ProtoMajor > 1 && !ready {
		body.Detach(reader)
	}
	return reader, body
}

// hasBody reports whether a request has a body.
func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// fall runs the fallback for a request whose first response was discarded.
func (f *Failover) fall(w http.ResponseWriter, r *http.Request, s *responseInterceptor) {
	if s.body != nil {
		rest, reader := *r, new(replay.Reader)
		s.body.Open(reader)
		s.body.Settle()
		rest.Body = reader
		r = &rest
		if s.interrupted {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // a failure shows in the read
		}
	}
	f.options.Fallback.Handler.ServeHTTP(w, r)
}
