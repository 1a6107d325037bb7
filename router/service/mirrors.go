package service

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// mirrorTime is the timeout of a mirrored request.
	mirrorTime = 30 * time.Second
	// mirrorsAtOnce is how many mirrored requests of one service may be in flight; more are dropped.
	mirrorsAtOnce = 256
	// closing is the bit of Mirrors.state that refuses new requests; the other bits count those in flight.
	closing uint64 = 1 << 63
)

// MirrorCounts counts the mirrored requests since the start.
type MirrorCounts struct {
	// Sent counts requests sent to a mirror.
	Sent uint64
	// Dropped counts those not sent because too many were in flight, or the body was too large.
	Dropped uint64
	// Unread counts those not sent because the main service had not read the body to its end, or the client had
	// left.
	Unread uint64
	// Broken counts those sent that ended in a panic, which is also how a response breaks off.
	Broken uint64
}

// Mirrors runs mirrored requests, independent of the original ones. A mirrored request ends after 30 seconds at
// the latest.
type Mirrors struct {
	base   context.Context
	cancel context.CancelFunc
	state  atomic.Uint64
	idle   chan struct{}

	sent, dropped, unread, broken atomic.Uint64
}

// NewMirrors returns a runner of mirrored requests.
func NewMirrors() *Mirrors {
	base, cancel := context.WithCancel(context.Background())
	return &Mirrors{base: base, cancel: cancel, idle: make(chan struct{}, 1)}
}

// Counts returns the counts so far.
func (m *Mirrors) Counts() MirrorCounts {
	return MirrorCounts{
		Sent: m.sent.Load(), Dropped: m.dropped.Load(), Unread: m.unread.Load(), Broken: m.broken.Load(),
	}
}

// Close cancels the requests in flight, waits until they have ended, and refuses new ones. It may be called again, at
// the same time too.
func (m *Mirrors) Close() {
	m.cancel()
	if m.state.Or(closing)&^closing == 0 {
		return
	}
	<-m.idle
	m.signal() // for another Close
}

// enter counts a request in, unless the runner is closed.
func (m *Mirrors) enter() bool {
	if m.state.Add(1)&closing == 0 {
		return true
	}
	m.leave()
	return false
}

func (m *Mirrors) leave() {
	if m.state.Add(^uint64(0)) == closing {
		m.signal()
	}
}

// signal says that no request is in flight, and none will be.
func (m *Mirrors) signal() {
	select {
	case m.idle <- struct{}{}:
	default: // already signaled
	}
}

// original is a request as mirrors get it. It shares no recycled memory with the client's request.
type original struct {
	request *http.Request
	record  telemetry.Record
	// keepsForwardedFor says that X-Forwarded-For stays as it is.
	keepsForwardedFor bool
	// body is nil for copies without a body. It is released when no mirror uses it any more, of which wanted is the
	// number.
	body   *replay.Body
	wanted atomic.Int64
}

// newOriginal copies a request before the main service changes it. Its body is added later.
func newOriginal(r *http.Request) *original {
	ctx := r.Context()
	seen := telemetry.RecordFrom(ctx)
	o := &original{
		request: r.Clone(context.Background()), keepsForwardedFor: forwarded.KeepsForwardedFor(ctx),
		record: telemetry.Record{
			Method: seen.Method, Host: seen.Host, Path: seen.Path, Client: seen.Client, Protocol: seen.Protocol,
			Entrypoint: seen.Entrypoint, Router: seen.Router, Generation: seen.Generation,
			Authenticated: seen.Authenticated,
		},
	}
	o.request.Body, o.request.ContentLength, o.request.TransferEncoding = http.NoBody, 0, nil
	o.request.Trailer, o.request.GetBody = nil, nil
	o.request.Header.Del("Content-Length")
	o.request.Header.Del("Expect")
	return o
}

func (o *original) drop() {
	if o.wanted.Add(-1) == 0 && o.body != nil {
		o.body.Release()
	}
}

// addBody gives a copy of the request its body.
func (o *original) addBody(request *http.Request) {
	length, _, _ := o.body.Progress()
	if len(request.Trailer) > 0 {
		length = -1
	}
	if length != 0 {
		reader := new(replay.Reader)
		o.body.Open(reader)
		request.Body, request.ContentLength = reader, length
	}
}

// send sends the request to a mirror, unless too many of its service are in flight.
func (m *Mirrors) send(o *original, to http.Handler, state *State) {
	if state.mirrors.Add(1) > mirrorsAtOnce {
		state.mirrors.Add(-1)
		m.dropped.Add(1)
		o.drop()
		return
	}
	if !m.enter() {
		state.mirrors.Add(-1)
		m.dropped.Add(1)
		o.drop()
		return
	}
	m.sent.Add(1)
	go m.carry(o, to, state)
}

// carry runs the mirror's handler and discards the response.
func (m *Mirrors) carry(o *original, to http.Handler, state *State) {
	defer m.leave()
	defer state.mirrors.Add(-1)
	defer o.drop()
	ctx, cancel := context.WithTimeout(m.base, mirrorTime)
	defer cancel()
	record := o.record
	record.Start = time.Now()
	ctx = telemetry.WithRecord(ctx, &record)
	if o.keepsForwardedFor {
		ctx = forwarded.KeepForwardedFor(ctx)
	}
	request := o.request.Clone(ctx)
	if o.body != nil {
		o.addBody(request)
	}
	defer func() {
		// A mirror's failure does not concern the client.
		if recover() != nil {
			m.broken.Add(1)
		}
	}()
	to.ServeHTTP(new(intercept.Sink), request)
}
