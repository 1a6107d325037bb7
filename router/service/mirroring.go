package service

import (
	"net/http"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/telemetry"
)

// MirroringOptions are the options of a mirroring service.
type MirroringOptions struct {
	// Main answers the client.
	Main Child
	// To are the mirrors.
	To []Mirror
	// Body sends the request's body to mirrors (mirrorBody); without it they get requests without a body.
	Body bool
	// MaxBody is the largest body in bytes that is mirrored (maxBodySize); negative sets no limit but that of
	// Memory.
	MaxBody int64
	// State outlives the handler, Carrier runs mirrored requests, and Memory bounds the buffered bodies.
	State   *State
	Carrier *Mirrors
	Memory  *replay.Memory
}

// Mirror is a service that gets copies of requests.
type Mirror struct {
	// Handler serves the copies; its responses are discarded.
	Handler http.Handler
	// Numerator and Denominator are the share of requests that are copied, from 0 to 1; both are below 2^31, and the
	// denominator is at least 1.
	Numerator, Denominator int
}

// Mirroring answers with its main service and sends copies of a share of the requests to mirrors, whose
// responses are discarded. The main service never waits for a mirror: copies are sent when its response is
// complete, and a body is buffered as the main service reads it, never ahead of it.
//
// Not mirrored are requests with an Upgrade; those whose body the main service has not read to its end, or is
// larger than the limit; those whose client has left or whose response broke off; and those beyond the limit of
// requests in flight.
type Mirroring struct{ options MirroringOptions }

// NewMirroring returns the handler of a mirroring service.
func NewMirroring(options MirroringOptions) *Mirroring { return &Mirroring{options: options} }

// Up reports whether the main service is up.
func (m *Mirroring) Up() bool { return m.options.Main.up() }

// ServeHTTP answers with the main service.
func (m *Mirroring) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(m.options.To) == 0 || r.Method == http.MethodConnect || forwarded.UpgradeType(r.Header) != "" {
		m.options.Main.Handler.ServeHTTP(w, r)
		return
	}
	turn := m.options.State.sampled.Add(1) - 1
	wanted := 0
	for i := range m.options.To {
		if m.options.To[i].takes(turn) {
			wanted++
		}
	}
	if wanted == 0 {
		m.options.Main.Handler.ServeHTTP(w, r)
		return
	}
	m.serve(w, r, turn, wanted)
}

// takes reports whether a mirror gets the request of a turn. Its turns are evenly spread, and their share is exact
// after as many turns as the denominator says.
func (m *Mirror) takes(turn uint64) bool {
	share, of := uint64(m.Numerator), uint64(m.Denominator) //nolint:gosec // not negative
	return turn%of*share%of < share
}

// serve answers a request that is mirrored.
func (m *Mirroring) serve(w http.ResponseWriter, r *http.Request, turn uint64, wanted int) {
	o := newOriginal(r)
	o.wanted.Store(int64(wanted))
	var body *replay.Body
	if m.options.Body && hasBody(r) {
		body = new(replay.Body)
		body.Init(r.Body, r.ContentLength, m.options.MaxBody, m.options.Memory)
		defer func() {
			if o.body == nil {
				body.Release()
			}
		}()
		observed, reader := *r, new(replay.Reader)
		body.Open(reader)
		observed.Body = reader
		r = &observed
	}
	m.options.Main.Handler.ServeHTTP(w, r)
	if r.Context().Err() != nil || telemetry.RecordFrom(r.Context()).Status == statusClientLeft {
		m.options.Carrier.unread.Add(uint64(wanted)) //nolint:gosec // a count
		return
	}
	if body != nil && !m.complete(o, r, body, uint64(wanted)) { //nolint:gosec // a count
		return
	}
	for i := range m.options.To {
		if m.options.To[i].takes(turn) {
			m.options.Carrier.send(o, m.options.To[i].Handler, m.options.State)
		}
	}
}

// statusClientLeft is recorded for a client that left before its response began.
const statusClientLeft = telemetry.StatusClientClosedRequest

// complete adds the body to the copies, if all of it is buffered.
func (m *Mirroring) complete(o *original, r *http.Request, body *replay.Body, wanted uint64) bool {
	switch {
	case body.Finish():
		o.body = body
		o.request.Trailer = r.Trailer.Clone()
		return true
	case body.Exceeded():
		m.options.Carrier.dropped.Add(wanted)
	default:
		m.options.Carrier.unread.Add(wanted)
	}
	return false
}
