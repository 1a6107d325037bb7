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

// DefaultFirstStateTimeout is the default time after which a provider without a first state is reported as timed out.
const DefaultFirstStateTimeout = 10 * time.Second

// Entry is one provider that a Hub runs.
type Entry struct {
	// Name is the part after @ in the names of the provider's objects. It is unique and contains no @.
	Name string
	// Provider is run until the Hub stops.
	Provider Provider
	// Required makes Sluice not ready until this provider is synced or absent.
	Required bool
	// Immediate exempts the provider's configurations from being held back in a burst of changes, since requests wait for
	// them.
	Immediate bool
	// Paced says that the provider collects a burst itself and sends its configurations at intervals. They are held back
	// no longer than in proportion to what it costs to apply them.
	Paced bool
}

// Status is the state of one provider.
type Status struct {
	// State is never StateUnchanged.
	State dynamic.ProviderState
	// Reason explains State, or why a synced provider was restarted; empty if there is no problem.
	Reason string
	// Since is when State was entered.
	Since time.Time
	// LastMessage is when the last message arrived; zero before the first one.
	LastMessage time.Time
	// Required is copied from the provider's Entry.
	Required bool
}

// Update is the state that a Hub has collected.
type Update struct {
	// Configurations holds the latest configuration of every provider that has sent one.
	Configurations map[string]*dynamic.Configuration
	// ChangedConfigurations names the providers whose configuration has changed since the last Take, sorted.
	ChangedConfigurations []string
	// Immediate is set if one of them is of a provider that is Immediate.
	Immediate bool
	// Paced is set if one of them is of a provider that is Paced.
	Paced bool
	// Endpoints holds the last set of each key that was received since the last Take, in order of arrival and with growing
	// versions.
	Endpoints []dynamic.EndpointSet
	// States holds the status of every provider.
	States map[string]Status
}

// Hub runs providers and collects the latest configuration and status of each, and the last set of each endpoint key.
// It does not merge or compare, so the cost of a message is independent of the Hub's contents.
//
// A provider that fails or panics is restarted after a delay; what it has sent stays in use. One reader waits for
// Changed and calls Take. The methods are safe for concurrent use.
type Hub struct {
	entries           []Entry
	logger            telemetry.Logger
	firstStateTimeout time.Duration
	changed           chan struct{}

	mu             sync.Mutex
	configurations map[string]*dynamic.Configuration
	fresh          map[string]struct{}
	immediate      bool
	paced          bool
	states         map[string]Status
	sets           endpointSets
}

// Option configures a Hub.
type Option func(*Hub)

// WithFirstStateTimeout sets the time after which a provider without a first state is reported as timed out. The
// default is DefaultFirstStateTimeout.
func WithFirstStateTimeout(timeout time.Duration) Option {
	return func(h *Hub) { h.firstStateTimeout = timeout }
}

// NewHub returns a Hub for the entries, all pending.
func NewHub(entries []Entry, logger telemetry.Logger, options ...Option) *Hub {
	hub := &Hub{
		entries:           slices.Clone(entries),
		logger:            logger,
		firstStateTimeout: DefaultFirstStateTimeout,
		changed:           make(chan struct{}, 1),
		configurations:    map[string]*dynamic.Configuration{},
		fresh:             map[string]struct{}{},
		states:            map[string]Status{},
		sets:              endpointSets{pending: map[string]int{}},
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

// Run runs every provider on its own goroutine until ctx ends and all of them have returned; it may be called once. A
// provider that has not returned 5 seconds after the end of ctx is logged and left running. Run returns an error at
// once if two entries have the same name, or a name is empty or contains @.
func (h *Hub) Run(ctx context.Context) error {
	seen := map[string]bool{}
	for _, entry := range h.entries {
		switch {
		case entry.Name == "":
			return errors.New("a provider has no name")
		case strings.Contains(entry.Name, "@"):
			return fmt.Errorf("provider %q: a provider's name may not contain @", entry.Name)
		case seen[entry.Name]:
			return fmt.Errorf("provider %q is duplicated", entry.Name)
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

// Changed returns a channel that receives a value when there is something to take.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// Take returns the collected state and the changes since the last Take.
func (h *Hub) Take() Update {
	h.mu.Lock()
	defer h.mu.Unlock()
	update := Update{
		Configurations:        maps.Clone(h.configurations),
		ChangedConfigurations: slices.Sorted(maps.Keys(h.fresh)),
		Immediate:             h.immediate,
		Paced:                 h.paced,
		Endpoints:             h.sets.take(),
		States:                maps.Clone(h.states),
	}
	clear(h.fresh)
	h.immediate, h.paced = false, false
	return update
}

// wake signals Changed; several changes are one signal.
func (h *Hub) wake() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}
