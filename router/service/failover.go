package service

import (
	"context"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// FailoverOptions are the options of a failover service.
type FailoverOptions struct {
	// Main answers while it is up, Fallback otherwise.
	Main     Child
	Fallback Child
	// Status are the codes of answers of Main that the client does not get: Fallback answers in their place
	// (errors.status). Empty turns to Fallback only when Main is down.
	Status dynamic.StatusCodes
	// MaxBody is how many bytes of a request's body are kept for Fallback (errors.maxRequestBodyBytes); less than 0 sets no
	// limit but that of Memory. It is of no use without Status.
	MaxBody int64
	// Memory bounds what is kept of bodies.
	Memory *Memory
}

// Failover answers with its main service while that is up, and otherwise with its fallback.
//
// It can also turn to the fallback when the main service has answered with certain status codes. Of such an answer nothing
// reaches the client, informational responses before it included. All others pass as they come, but for their informational
// responses, which wait for the final status. The fallback gets the request as it came, with its whole body: what the main
// service has read is kept up to a limit, and the rest read from the client. When more was read than the limit, the main
// service's answer is the client's, whatever its status. An answer that switches protocols has begun when it does.
type Failover struct{ options FailoverOptions }

// NewFailover returns the handler of a failover service.
func NewFailover(options FailoverOptions) *Failover { return &Failover{options: options} }

// Up tells whether the main service or the fallback is up.
func (f *Failover) Up() bool { return f.options.Main.up() || f.options.Fallback.up() }

// ServeHTTP answers with the main service or with the fallback. When both are down the fallback says so.
func (f *Failover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !f.options.Main.up():
		f.options.Fallback.Handler.ServeHTTP(w, r)
	case f.options.Status.Empty():
		f.options.Main.Handler.ServeHTTP(w, r)
	default:
		f.try(w, r)
	}
}

const (
	// drainBytes and drainTime bound how much of an answer is read that nobody gets, so that its connection can be used
	// again.
	drainBytes = 64 << 10
	drainTime  = time.Second
	// restTime is how long the client may take for the rest of its body, when its reading had to be interrupted.
	restTime = time.Minute
)

// try lets the main service answer, and the fallback if that answer is not for the client.
func (f *Failover) try(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	before := *record
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	attempt := r.Clone(ctx)
	attempt.Body, attempt.Trailer = r.Body, r.Trailer // The server fills in trailers.
	s := newScreen(w, &f.options.Status, cancel)
	if hasBody(r) {
		s.body = keep(r, f.options.MaxBody, f.options.Memory)
		defer s.body.release()
		s.reader = s.body.leaving(r)
		attempt.Body = s.reader.body()
	}
	s.serve(f.options.Main.Handler, attempt)
	if !s.discarded {
		return
	}
	if r.Context().Err() != nil {
		record.Status, record.Code, record.Reason = telemetry.StatusClientClosedRequest, telemetry.CodeClientLeft, "the client left"
		return
	}
	released := record.Released
	record.Service, record.Endpoint, record.Code, record.Reason = before.Service, before.Endpoint, before.Code, before.Reason
	record.EndpointURL, record.OriginStatus, record.OriginBytes, record.OriginHeader = "", 0, 0, nil
	record.Status, record.Released = before.Status, false
	f.fall(w, r, s)
	record.Released = record.Released && released
}

// fall lets the fallback answer a request that the main service has failed.
func (f *Failover) fall(w http.ResponseWriter, r *http.Request, s *screen) {
	if s.body != nil {
		rest := *r
		reader := s.body.reader()
		reader.last = true
		rest.Body = reader.body()
		r = &rest
		if s.interrupted {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // Reading tells.
		}
	}
	f.options.Fallback.Handler.ServeHTTP(w, r)
}
