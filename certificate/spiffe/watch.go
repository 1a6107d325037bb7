package spiffe

import (
	"bytes"
	"context"
	"time"

	"github.com/spiffe/go-spiffe/v2/workloadapi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// firstPause is the time before a second attempt to reach the Workload API.
	firstPause = 250 * time.Millisecond
	// repeatFailure is the time after which a failure that goes on is logged again.
	repeatFailure = 10 * time.Minute
	// otherFailure is the least time between two failures that are logged.
	otherFailure = time.Minute
	// connectTimeout bounds one attempt to connect.
	connectTimeout = 5 * time.Second
)

// failure is why the Workload API delivers nothing.
type failure struct {
	text   string
	logged time.Time
}

// Run follows the Workload API until ctx ends. What was delivered stays in use while it is away, until the SVID
// expires.
func (s *Source) Run(ctx context.Context) {
	defer func() {
		if s.expiry != nil {
			s.expiry.Stop()
		}
		s.allow()
	}()
	for ctx.Err() == nil {
		// The client retries by itself, except after codes that it takes for final.
		if err := s.watch(ctx); err != nil && ctx.Err() == nil {
			s.failed(err)
		}
		wait(ctx, s.options.LongestPause)
	}
}

// watch follows the Workload API until the client gives up.
func (s *Source) watch(ctx context.Context) error {
	pauses := backoff.DefaultConfig
	pauses.BaseDelay, pauses.MaxDelay = firstPause, s.options.LongestPause
	client, err := workloadapi.New(
		ctx, workloadapi.WithAddr(s.options.Address), workloadapi.WithBackoffStrategy(strategy{s.options.LongestPause}),
		workloadapi.WithDialOptions(
			grpc.WithNoProxy(),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: connectTimeout}),
		),
	)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // The stream has ended.
	return client.WatchX509Context(ctx, &watcher{ctx: ctx, source: s})
}

// watcher receives what the Workload API delivers, in the goroutine of Run.
type watcher struct {
	ctx    context.Context //nolint:containedctx // the library's calls have none
	source *Source
}

// OnX509ContextUpdate takes a delivery.
func (w *watcher) OnX509ContextUpdate(delivered *workloadapi.X509Context) {
	w.source.deliver(delivered)
}

// OnX509ContextWatchError takes the error of an attempt, or of a delivery, which then changes nothing.
func (w *watcher) OnX509ContextWatchError(err error) {
	if w.ctx.Err() == nil {
		w.source.failed(err)
	}
}

// deliver replaces what handshakes use.
func (s *Source) deliver(delivered *workloadapi.X509Context) {
	next, err := newMaterial(delivered)
	if err != nil {
		s.failed(err)
		return
	}
	s.failure.Store(nil)
	s.allow()
	last := s.current.Swap(next)
	switch {
	case last == nil || !bytes.Equal(last.certificate.Certificate[0], next.certificate.Certificate[0]):
		s.options.Logger.Info("SPIFFE: connections to endpoints use a new X.509-SVID", "id", next.id,
			"notAfter", next.notAfter.UTC().Format(time.RFC3339), "trustDomains", next.domains())
	case !last.sameBundles(next):
		s.options.Logger.Info("SPIFFE: the trust bundles have changed", "trustDomains", next.domains())
	}
	if s.expiry != nil {
		s.expiry.Stop()
	}
	left := time.Until(next.notAfter)
	if left <= 0 {
		s.options.Logger.Error("SPIFFE: the delivered X.509-SVID has expired: no connection is made with it", "id", next.id,
			"notAfter", next.notAfter.UTC().Format(time.RFC3339))
	} else {
		s.expiry = time.AfterFunc(left+time.Millisecond, s.notify)
	}
	s.opened.Do(func() { close(s.first) })
	s.notify()
}

// failed notes why nothing is delivered. A failure that goes on is logged again after repeatFailure, and another one
// after otherFailure.
func (s *Source) failed(err error) {
	if status.Code(err) == codes.PermissionDenied {
		s.deny()
	}
	next, last := &failure{text: err.Error(), logged: time.Now()}, s.failure.Load()
	if last != nil && last.text == next.text && time.Since(last.logged) < repeatFailure {
		return
	}
	defer s.notify()
	if last != nil && time.Since(last.logged) < otherFailure {
		next.logged = last.logged
		s.failure.Store(next)
		return
	}
	s.failure.Store(next)
	if s.current.Load() == nil {
		s.options.Logger.Error("SPIFFE: the Workload API delivers no X.509-SVID; transports with spiffe make no connection",
			"address", s.options.Address, "error", err)
	} else {
		s.options.Logger.Error("SPIFFE: the Workload API fails; the last X.509-SVID is used until it expires",
			"address", s.options.Address, "error", err)
	}
}

// deny has the SVID dropped after DeniedGrace.
func (s *Source) deny() {
	if s.denied != nil || s.current.Load() == nil {
		return
	}
	s.denied = time.AfterFunc(s.options.DeniedGrace, func() {
		s.current.Store(nil)
		s.options.Logger.Error("SPIFFE: the Workload API has no X.509-SVID for Sluice any more; transports with spiffe make "+
			"no connection", "address", s.options.Address)
		s.notify()
	})
}

// allow ends what deny has begun.
func (s *Source) allow() {
	if s.denied != nil {
		s.denied.Stop()
		s.denied = nil
	}
}

// strategy makes the pauses between attempts.
type strategy struct{ longest time.Duration }

// NewBackoff returns pauses that begin with the shortest.
func (s strategy) NewBackoff() workloadapi.Backoff {
	return &pauses{longest: s.longest, next: min(firstPause, s.longest)}
}

// pauses double until the longest.
type pauses struct{ longest, next time.Duration }

// Next returns the next pause.
func (p *pauses) Next() time.Duration {
	pause := p.next
	p.next = min(2*pause, p.longest)
	return pause
}

// Reset begins with the shortest pause again.
func (p *pauses) Reset() { p.next = min(firstPause, p.longest) }
