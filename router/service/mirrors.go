package service

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// mirrorTime is how long a request to a mirror may take.
	mirrorTime = 30 * time.Second
	// mirrorsAtOnce is how many requests to its mirrors a service may have under way; more are dropped.
	mirrorsAtOnce = 256
	// closing is the bit of Mirrors.state that says that no request may begin any more; the others count those under way.
	closing uint64 = 1 << 63
)

// MirrorCounts is what became of the requests that were to be mirrored, since the start.
type MirrorCounts struct {
	// Sent is how many requests were handed to a mirror.
	Sent uint64
	// Dropped is how many were not: too many were under way, or the body was too large.
	Dropped uint64
	// Unread is how many were not because the main service had not read the body to its end, or the client had left.
	Unread uint64
	// Broken is how many of those sent ended in a panic, which is also how an answer breaks off.
	Broken uint64
}

// Mirrors carries out requests to mirrors, away from the requests that they are copies of. A request to a mirror ends after
// 30 seconds at the latest.
type Mirrors struct {
	base   context.Context
	cancel context.CancelFunc
	state  atomic.Uint64
	idle   chan struct{}

	sent, dropped, unread, broken atomic.Uint64
}

// NewMirrors returns a carrier of requests to mirrors.
func NewMirrors() *Mirrors {
	base, cancel := context.WithCancel(context.Background())
	return &Mirrors{base: base, cancel: cancel, idle: make(chan struct{}, 1)}
}

// Counts returns what has become of requests so far.
func (m *Mirrors) Counts() MirrorCounts {
	return MirrorCounts{
		Sent: m.sent.Load(), Dropped: m.dropped.Load(), Unread: m.unread.Load(), Broken: m.broken.Load(),
	}
}

// Close cancels the requests that are under way, waits until they have ended, and lets no more begin.
func (m *Mirrors) Close() {
	m.cancel()
	if m.state.Or(closing)&^closing == 0 {
		return
	}
	<-m.idle
}

// enter begins a request.
func (m *Mirrors) enter() bool {
	if m.state.Add(1)&closing == 0 {
		return true
	}
	m.leave()
	return false
}

func (m *Mirrors) leave() {
	if m.state.Add(^uint64(0)) != closing {
		return
	}
	select {
	case m.idle <- struct{}{}:
	default: // Close has been told.
	}
}

// original is a request as mirrors are to see it. It shares nothing with the client's that another request may use again.
type original struct {
	request *http.Request
	record  telemetry.Record
	// keepsForwardedFor says that X-Forwarded-For stays as it is.
	keepsForwardedFor bool
	body              []byte
	// wanted counts who still wants the body, which done gives back.
	wanted atomic.Int64
	done   func()
}

// newOriginal copies a request before anybody changes it. Its body is still to come.
func newOriginal(r *http.Request) *original {
	ctx := r.Context()
	seen := telemetry.RecordFrom(ctx)
	o := &original{
		request: r.Clone(context.Background()), keepsForwardedFor: canonical.KeepsForwardedFor(ctx), done: func() {},
		record: telemetry.Record{
			Method: seen.Method, Host: seen.Host, Path: seen.Path, Client: seen.Client, Protocol: seen.Protocol,
			Entrypoint: seen.Entrypoint, Router: seen.Router, Generation: seen.Generation,
		},
	}
	o.request.Body, o.request.ContentLength, o.request.TransferEncoding = http.NoBody, 0, nil
	o.request.Trailer, o.request.GetBody = nil, nil
	o.request.Header.Del("Content-Length")
	o.request.Header.Del("Expect")
	return o
}

func (o *original) drop() {
	if o.wanted.Add(-1) == 0 {
		o.done()
	}
}

// send lets a mirror have the request, unless its service has too many under way.
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

// carry serves the request with the mirror and throws the answer away.
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
		ctx = canonical.KeepForwardedFor(ctx)
	}
	request := o.request.Clone(ctx)
	if len(o.body) > 0 {
		request.Body, request.ContentLength = newMemoryBody(o.body), int64(len(o.body))
	}
	if len(request.Trailer) > 0 {
		request.Body, request.ContentLength = newMemoryBody(o.body), -1
	}
	defer func() {
		// What a mirror does is nobody's concern: the client has its answer.
		if recover() != nil {
			m.broken.Add(1)
		}
	}()
	to.ServeHTTP(&void{header: http.Header{}}, request)
}
