package dns

import (
	"context"
	"net/netip"
	"time"
)

const (
	// The delay before a retry doubles from a second up to half a minute.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// finding is the result of a lookup.
type finding struct {
	watcher *watcher
	// addresses are those of this lookup, or of the last successful one.
	addresses []netip.Addr
	// known is set if addresses may be published: the name has been resolved at least once.
	known bool
	// missing is set if the name does not exist or has no address.
	missing bool
	// err is why the lookup failed.
	err error
	// expired is set if the last addresses are too old to stay in use.
	expired bool
}

// watcher resolves one name periodically.
type watcher struct {
	provider *Provider
	name     string
	cancel   context.CancelFunc
	wake     chan struct{}

	good  [2][]netip.Addr
	since [2]time.Time // when the family was last answered
	known bool
}

// run sends a finding after each lookup until ctx ends. slots bounds the number of concurrent lookups.
func (w *watcher) run(ctx context.Context, current func() *system, slots chan struct{}, findings chan<- finding) {
	retry := firstRetry
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		answer := current().lookup(ctx, w.name)
		<-slots
		if ctx.Err() != nil {
			return
		}
		select {
		case findings <- w.take(answer, time.Now()):
		case <-ctx.Done():
			return
		}
		pause := w.provider.bound(answer.validity())
		if answer[0].err != nil || answer[1].err != nil {
			if !answer.found() || retry < pause {
				pause = retry
			}
			retry = min(2*retry, lastRetry)
		} else {
			retry = firstRetry
		}
		sleep(ctx, pause, w.wake)
		if ctx.Err() != nil {
			return
		}
	}
}

// take combines an answer with the previous addresses of a family that was not answered.
func (w *watcher) take(answer families, now time.Time) finding {
	found := finding{watcher: w, err: answer.err()}
	for f := range answer {
		switch {
		case answer[f].err == nil:
			w.good[f], w.since[f] = answer[f].addresses, now
		case len(w.good[f]) > 0 && now.Sub(w.since[f]) > w.provider.options.Keep:
			w.good[f], found.expired = nil, true
		}
		found.addresses = append(found.addresses, w.good[f]...)
	}
	complete := answer[0].err == nil && answer[1].err == nil
	found.missing = complete && len(found.addresses) == 0
	w.known = w.known || complete || len(found.addresses) > 0
	found.known = w.known
	return found
}

// validity returns the TTL of an answer: the shortest one of the families that have addresses, or of both.
func (f *families) validity() time.Duration {
	switch {
	case len(f[0].addresses) == 0 && len(f[1].addresses) > 0:
		return f[1].ttl
	case len(f[1].addresses) == 0 && len(f[0].addresses) > 0:
		return f[0].ttl
	}
	return min(f[0].ttl, f[1].ttl)
}
