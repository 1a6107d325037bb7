package translation

import (
	"context"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

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
	sender := Sender{
		Provider: l.Provider, Interval: l.Interval, Touched: l.Touched, Status: l.Status, Pending: l.pending, Next: l.next,
	}
	return sender.Run(ctx, messages)
}

func (l *Loop) pending() (pending bool, reason string) {
	state, reason := l.State()
	return state == dynamic.StatePending, reason
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
