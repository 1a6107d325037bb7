// Package ocsp obtains OCSP responses (RFC 6960) for the certificates that are served, and staples them.
//
// A Stapler gets the certificates of each configuration, queries their responders in the background, and hands verified
// responses with the status good to certificate.Pair, which handshakes read. It keeps them in memory, so that an
// unchanged certificate keeps its response when the configuration changes.
package ocsp

import (
	"container/heap"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// maxRequests bounds the requests in flight, maxPerResponder those to one responder; one that fails gets one request
	// at a time until it answers.
	maxRequests     = 64
	maxPerResponder = 4
	// maxConnections bounds the connections that are kept to one responder, and idleTimeout how long.
	maxConnections = 2
	idleTimeout    = 30 * time.Second
)

// The values of the label result of the metrics.
const (
	resultGood    = "good"
	resultRevoked = "revoked"
	resultUnknown = "unknown"
	resultFailed  = "failed"
)

// Metrics counts responses; metrics.OCSP does.
type Metrics interface {
	// Answered counts an attempt that ended: good, revoked, unknown or failed.
	Answered(result string)
}

// Options says what a Stapler works with.
type Options struct {
	// Overrides maps the URL of a responder in certificates to the URL that is queried in its place
	// (ocsp.responderOverrides).
	Overrides map[string]string
	// Logger is required.
	Logger telemetry.Logger
	// Metrics may be nil.
	Metrics Metrics
	// Transport sends the requests; nil means one that obeys HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	Transport http.RoundTripper
	// Control decides about each connection to a responder or a proxy, unless Transport is set; nil permits all.
	Control httpio.Control
}

// Stapler obtains and staples OCSP responses. It is safe for concurrent use.
type Stapler struct {
	overrides map[string]string
	logger    telemetry.Logger
	metrics   Metrics
	client    *http.Client
	changed   chan struct{}
	wake      chan struct{}

	mutex sync.Mutex
	// tasks has each certificate by the fingerprint of its leaf, waiting those without a request, by time.
	tasks      map[string]*task
	waiting    queue
	responders map[string]*responder
	inFlight   int
}

// responder is a host that is queried.
type responder struct {
	due      []*task
	inFlight int
	failing  bool
}

// New returns a Stapler that has no certificates yet.
func New(options Options) *Stapler {
	transport := options.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Control: options.Control}).DialContext,
			ForceAttemptHTTP2: true, TLSHandshakeTimeout: requestTimeout, MaxIdleConnsPerHost: maxConnections,
			IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxResponse,
		}
	}
	return &Stapler{
		overrides: maps.Clone(options.Overrides), logger: options.Logger, metrics: options.Metrics,
		client:  &http.Client{Transport: transport, Timeout: requestTimeout, CheckRedirect: noRedirect},
		changed: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		tasks: map[string]*task{}, responders: map[string]*responder{},
	}
}

// noRedirect keeps a redirect from being followed, which would make a GET of most of them.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Serve takes the certificates that are served from now on, in place of those before. It does not block.
func (s *Stapler) Serve(served []certificate.Served) {
	s.mutex.Lock()
	now := time.Now()
	present := make(map[string]*task, len(served))
	for _, one := range served {
		if len(one.Pair.Leaf.OCSPServer) == 0 {
			continue
		}
		key := one.Pair.Fingerprint
		next := present[key]
		if next == nil {
			next = &task{leaf: one.Pair.Leaf}
			present[key] = next
		}
		next.pairs = append(next.pairs, one.Pair)
		next.objects = append(next.objects, one.Objects...)
	}
	for key, known := range s.tasks {
		if present[key] == nil {
			s.forget(known)
			delete(s.tasks, key)
		}
	}
	for key, next := range present {
		if known := s.tasks[key]; known != nil {
			s.update(known, next, now)
		} else {
			s.begin(key, next, now)
		}
	}
	s.clean()
	s.mutex.Unlock()
	signal(s.wake)
	signal(s.changed)
}

// begin puts a new task into the queue.
func (s *Stapler) begin(key string, t *task, now time.Time) {
	t.urls = s.responderURLs(t.leaf.OCSPServer)
	t.host, t.must = hostOf(t.urls), certificate.MustStaple(t.leaf)
	t.due = now
	s.tasks[key] = t
	heap.Push(&s.waiting, t)
}

// update takes where a known certificate is used now.
func (s *Stapler) update(known, next *task, now time.Time) {
	known.objects = next.objects
	if slices.Equal(known.pairs, next.pairs) {
		return
	}
	known.pairs = next.pairs
	known.staple(now)
	if known.failures > 0 && known.index != notWaiting { // The chain may be another one.
		known.due = now
		heap.Fix(&s.waiting, known.index)
	}
}

// clean removes the responders that no certificate names.
func (s *Stapler) clean() {
	named := make(map[string]bool, len(s.responders))
	for _, one := range s.tasks {
		named[one.host] = true
	}
	maps.DeleteFunc(s.responders, func(host string, one *responder) bool { return one.inFlight == 0 && !named[host] })
}

// forget takes a task out of the queue.
func (s *Stapler) forget(known *task) {
	known.gone = true
	if known.index != notWaiting {
		heap.Remove(&s.waiting, known.index)
	}
}

// Run queries responders until ctx ends.
func (s *Stapler) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	var requests sync.WaitGroup
	defer requests.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next := s.start(ctx, &requests)
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// start begins what is due, as far as the bounds allow, and returns when more is due; zero means never.
func (s *Stapler) start(ctx context.Context, requests *sync.WaitGroup) time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := time.Now()
	for len(s.waiting) > 0 && !s.waiting[0].due.After(now) {
		due, _ := heap.Pop(&s.waiting).(*task)
		s.expire(due, now)
		host := s.responders[due.host]
		if host == nil {
			host = &responder{}
			s.responders[due.host] = host
		}
		host.due = append(host.due, due)
	}
	for _, host := range s.responders {
		most := maxPerResponder
		if host.failing {
			most = 1
		}
		for len(host.due) > 0 && host.inFlight < most && s.inFlight < maxRequests {
			next := host.due[0]
			host.due = host.due[1:]
			if next.gone {
				continue
			}
			host.inFlight++
			s.inFlight++
			pairs := next.pairs
			requests.Go(func() {
				answered := s.query(ctx, next, pairs)
				s.finish(ctx, next, host, answered)
			})
		}
	}
	if len(s.waiting) == 0 {
		return time.Time{}
	}
	return s.waiting[0].due
}

// expire removes a response that has ended.
func (s *Stapler) expire(known *task, now time.Time) {
	if known.status != statusGood || now.Before(known.until) || known.expired {
		s.judge(known, now)
		return
	}
	known.expired = true
	known.staple(now)
	s.logger.Warn("an OCSP response has ended, and is not stapled any more", append(known.fields(), "ended", known.until,
		"error", known.problem)...)
	s.judge(known, now)
}

// judge signals a change of the verdict on a certificate.
func (s *Stapler) judge(t *task, now time.Time) {
	if reason := t.reason(now); reason != t.reported {
		t.reported = reason
		signal(s.changed)
	}
}

// finish takes the end of an attempt.
func (s *Stapler) finish(ctx context.Context, t *task, host *responder, answered answer) {
	s.mutex.Lock()
	defer signal(s.wake)
	defer s.mutex.Unlock()
	s.inFlight--
	host.inFlight--
	if ctx.Err() != nil {
		return // The attempt was cut off.
	}
	host.failing = answered.err != nil && !answered.local
	if s.metrics != nil {
		s.metrics.Answered(answered.result())
	}
	if t.gone {
		return
	}
	now := time.Now()
	before := t.state(now)
	switch {
	case answered.err != nil:
	case answered.thisUpdate.Before(t.thisUpdate):
		answered.err = fmt.Errorf("the response of %s is older than the one before", answered.responder)
	case answered.status == statusUnknown && t.stapled(now):
		answered.err = fmt.Errorf("%s does not know the certificate any more", answered.responder)
	}
	if answered.err != nil {
		t.fail(now, answered.err)
	} else {
		t.succeed(now, answered)
	}
	t.staple(now)
	s.report(t, now, before)
	s.judge(t, now)
	heap.Push(&s.waiting, t)
}

// report logs a change of state.
func (s *Stapler) report(t *task, now time.Time, before string) {
	state := t.state(now)
	if state == before {
		s.logger.Debug("an OCSP responder was queried", append(t.fields(), "state", state, "error", t.problem)...)
		return
	}
	switch state {
	case StateGood:
		s.logger.Info("an OCSP response is stapled", append(t.fields(), "responder", t.responder, "until", t.until)...)
	case StateFailing:
		s.logger.Warn("no OCSP response was obtained", append(t.fields(), "error", t.problem, "next", t.due)...)
	default:
		s.logger.Warn("an OCSP responder says that a certificate is not good, and nothing is stapled",
			append(t.fields(), "state", state, "reason", t.detail, "responder", t.responder)...)
	}
}

// signal leaves a value in a channel unless there is one.
func signal(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// responderURLs returns the URLs that are queried in place of those of a certificate.
func (s *Stapler) responderURLs(urls []string) []string {
	all := make([]string, 0, maxResponders)
	for _, one := range urls[:min(len(urls), maxResponders)] {
		if other, known := s.overrides[one]; known {
			one = other
		}
		all = append(all, one)
	}
	return all
}

// hostOf returns the host by which requests are bounded: that of the first URL.
func hostOf(urls []string) string {
	parsed, err := url.Parse(urls[0])
	if err != nil {
		return ""
	}
	return parsed.Host
}

// Changed returns a channel that holds a value when Verdicts returns others than before.
func (s *Stapler) Changed() <-chan struct{} { return s.changed }

// Verdicts returns a verdict on each object with a certificate that has no response to staple, or soon none.
func (s *Stapler) Verdicts() []dynamic.Verdict {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := time.Now()
	var verdicts []dynamic.Verdict
	for _, key := range slices.Sorted(maps.Keys(s.tasks)) {
		reason := s.tasks[key].reason(now)
		if reason == "" {
			continue
		}
		for _, ref := range s.tasks[key].objects {
			verdicts = append(verdicts, dynamic.Verdict{
				Ref: ref, Status: dynamic.Degraded, Code: dynamic.CodeNotStapled, Reason: reason,
			})
		}
	}
	return verdicts
}
