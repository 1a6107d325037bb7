package translation

import (
	"cmp"
	"context"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// leastInterval is the minimum time between two messages, the default of Loop.Interval.
const leastInterval = 10 * time.Millisecond

// Loop sends what a provider of Ingresses translates. Its fields are not changed once it runs.
type Loop struct {
	// Provider is the name of the provider.
	Provider string
	// Interval is the minimum time between two messages; 0 means 10 ms.
	Interval time.Duration
	// Touched holds a value when Update may return something else, Status when State may.
	Touched, Status <-chan struct{}
	// Update translates what has changed, and returns the whole.
	Update func() (configuration *dynamic.Configuration, changed bool)
	// State returns the combined status of the watches.
	State func() (state dynamic.ProviderState, reason string)

	// trusted is set if everything has been read, and nothing of it dropped since.
	trusted bool
}

// Run sends nothing but what it waits for until every watch has its first state, or cannot have one, and returns nil
// when ctx ends; nothing else ends it. It must not be called twice at once.
func (l *Loop) Run(ctx context.Context, messages chan<- dynamic.Message) error {
	if !l.settled(ctx, messages) {
		return nil
	}
	interval := cmp.Or(l.Interval, leastInterval)
	var sent dynamic.Message
	for first := true; ; first = false {
		next, changed := l.next()
		if first || changed || next.State != sent.State || next.Reason != sent.Reason {
			select {
			case messages <- next:
				sent = next
			case <-ctx.Done():
				return nil
			}
			if !pause(ctx, interval) {
				return nil
			}
		}
		select {
		case <-l.Touched:
		case <-l.Status:
		case <-ctx.Done():
			return nil
		}
	}
}

// settled waits until no watch is pending, and reports meanwhile what is pending; false means that ctx has ended.
func (l *Loop) settled(ctx context.Context, messages chan<- dynamic.Message) bool {
	reported := ""
	for {
		if ctx.Err() != nil {
			return false
		}
		state, reason := l.State()
		if state != dynamic.StatePending {
			return true
		}
		if reason != reported {
			reported = reason
			select {
			case messages <- dynamic.Message{Provider: l.Provider, Reason: reason}:
			case <-ctx.Done():
				return false
			}
		}
		select {
		case <-l.Status:
		case <-ctx.Done():
			return false
		}
	}
}

// next translates what has changed and returns the state to send.
func (l *Loop) next() (next dynamic.Message, changed bool) {
	configuration, changed := l.Update()
	state, reason := l.State()
	switch {
	case state == dynamic.StatePending:
		// A watch that starts again holds what it had.
		state, reason = dynamic.StateSynced, ""
	case state == dynamic.StateForbidden && l.trusted:
		// So does one that is refused now, in every replica at once: calling all of them unready would take away what serves.
		state = dynamic.StateSynced
	}
	l.trusted = state == dynamic.StateSynced
	return dynamic.Message{Provider: l.Provider, Configuration: configuration, State: state, Reason: reason}, changed
}

// pause waits; false means that ctx has ended.
func pause(ctx context.Context, interval time.Duration) bool {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
