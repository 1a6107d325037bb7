package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// DefaultFirstStateTimeout is how long a provider may take for its first state before it is shown as timed out.
const DefaultFirstStateTimeout = 10 * time.Second

// Entry is one provider that a Hub runs.
type Entry struct {
	// Name is the part behind @ of the names of the provider's objects; it is unique and holds no @.
	Name string
	// Provider is run until the Hub stops.
	Provider Provider
	// Required says that Sluice is not ready before this provider is synced or absent.
	Required bool
}

// Status is how one provider stands.
type Status struct {
	// State is how far the provider has got; it is never StateUnchanged.
	State dynamic.ProviderState
	// Reason says why the state is what it is, or why a synced provider has been started again; it is empty when all
	// is well.
	Reason string
	// Since is when State was entered.
	Since time.Time
	// LastMessage is when the last message arrived; it is zero before the first one.
	LastMessage time.Time
	// Required is copied from the provider's Entry.
	Required bool
}

// Update is what a Hub has collected.
type Update struct {
	// Configurations holds the latest configuration of every provider that has sent one.
	Configurations map[string]*dynamic.Configuration
	// ChangedConfigurations names the providers whose configuration is another one than at the last Take, in order.
	ChangedConfigurations []string
	// Endpoints holds the last set of each key that was mentioned since the last Take, in the order of their arrival.
	// Their versions are the Hub's own: they grow for as long as Sluice runs, also when a provider is started again.
	Endpoints []dynamic.EndpointSet
	// States holds the status of every provider.
	States map[string]Status
}

// Hub runs providers and collects what they send: the latest configuration of each, the last set of each endpoint key,
// and how each provider stands. A message costs the same whatever the Hub holds; nothing is merged or compared here.
//
// A provider that fails or panics is started again after a while, and what it has sent until then stays.
// One reader waits for Changed and calls Take; the methods may be called from any goroutine.
type Hub struct {
	entries           []Entry
	logger            telemetry.Logger
	firstStateTimeout time.Duration
	changed           chan struct{}

	mu             sync.Mutex
	configurations map[string]*dynamic.Configuration
	fresh          map[string]struct{}
	states         map[string]Status
	sets           endpointSets
}

// Option changes how a Hub works.
type Option func(*Hub)

// WithFirstStateTimeout sets how long a provider may take for its first state before it is shown as timed out.
// The default is DefaultFirstStateTimeout.
func WithFirstStateTimeout(timeout time.Duration) Option {
	return func(h *Hub) { h.firstStateTimeout = timeout }
}

// NewHub returns a Hub for the entries; all of them are pending until Run has been called and they have answered.
func NewHub(entries []Entry, logger telemetry.Logger, options ...Option) *Hub {
	hub := &Hub{
		entries:           slices.Clone(entries),
		logger:            logger,
		firstStateTimeout: DefaultFirstStateTimeout,
		changed:           make(chan struct{}, 1),
		configurations:    map[string]*dynamic.Configuration{},
		fresh:             map[string]struct{}{},
		states:            map[string]Status{},
		sets:              endpointSets{known: map[string]knownSet{}, pending: map[string]int{}},
	}
	for _, option := range options {
		option(hub)
	}
	now := time.Now()
	for _, entry := range entries {
		hub.states[entry.Name] = Status{State: dynamic.StatePending, Since: now, Required: entry.Required}
	}
	return hub
}

// Run runs every provider on a goroutine of its own until ctx ends and all of them have returned; it may be called
// once. It fails at once when two entries share a name, or a name is empty or holds an @.
func (h *Hub) Run(ctx context.Context) error {
	seen := map[string]bool{}
	for _, entry := range h.entries {
		switch {
		case entry.Name == "":
			return errors.New("a provider has no name")
		case strings.Contains(entry.Name, "@"):
			return fmt.Errorf("provider %q: a provider's name may not contain @", entry.Name)
		case seen[entry.Name]:
			return fmt.Errorf("provider %q is there twice", entry.Name)
		}
		seen[entry.Name] = true
	}
	var running sync.WaitGroup
	for _, entry := range h.entries {
		running.Go(func() { h.supervise(ctx, entry) })
	}
	h.wake()
	running.Wait()
	return nil
}

// Changed returns a channel that holds a value when something has arrived since the last Take.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// Take returns the collected state, and what has changed since the last Take.
func (h *Hub) Take() Update {
	h.mu.Lock()
	defer h.mu.Unlock()
	update := Update{
		Configurations:        maps.Clone(h.configurations),
		ChangedConfigurations: slices.Sorted(maps.Keys(h.fresh)),
		Endpoints:             h.sets.take(),
		States:                maps.Clone(h.states),
	}
	clear(h.fresh)
	return update
}

// wake tells the reader that there is something to take; many changes make one wake-up.
func (h *Hub) wake() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}
