package dns

import (
	"context"
	"net/netip"
	"time"
)

const (
	// A name that cannot be asked for is asked for again after a second, then two, four, and so on up to half a minute.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// finding is what is known of a name after a lookup.
type finding struct {
	watcher *watcher
	// addresses are the good ones of this lookup or of the last that succeeded.
	addresses []netip.Addr
	// known says that addresses may be published: the name has been answered for at least once.
	known bool
	// missing says that the servers say that there is no such name, or that it has no address.
	missing bool
	// err says why the name could not be asked for.
	err error
	// expired says that the last good addresses are too old to be kept.
	expired bool
}

// watcher asks for one name again and again.
type watcher struct {
	provider *Provider
	name     string
	cancel   context.CancelFunc
	wake     chan struct{}

	good  [2][]netip.Addr
	since [2]time.Time // when the family was answered for last
	known bool
}

// run sends a finding after each lookup until ctx ends. Slots bounds how many lookups are under way at a time.
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

// take keeps what is good of an answer and adds what was good before where a family was not answered for.
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

// validity returns how long an answer holds: the shortest time of the families that have addresses, or of both.
func (f *families) validity() time.Duration {
	switch {
	case len(f[0].addresses) == 0 && len(f[1].addresses) > 0:
		return f[1].ttl
	case len(f[1].addresses) == 0 && len(f[0].addresses) > 0:
		return f[0].ttl
	}
	return min(f[0].ttl, f[1].ttl)
}
