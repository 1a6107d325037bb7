package pipeline

import (
	"maps"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
)

// State is how everything stands at one moment. It is immutable.
type State struct {
	// State is what became of the providers' configurations. Its channel is closed when there is a State with a new
	// generation, other verdicts, other origins, another readiness, or another status of a provider. A State that follows
	// another without any of that shares its channel.
	provider.State
	// Generation counts activated tables; 0 means that none has been activated yet.
	Generation uint64
	// Activated is when the table of this generation was activated.
	Activated time.Time
	// Ready is true when a table is active, every required provider is synced or absent, and its first state is in the
	// active table.
	Ready bool
	// Providers holds the status of every provider by its name.
	Providers map[string]provider.Status
	// Configuration is the merged configuration that is active; it is nil before the first generation.
	Configuration *dynamic.Configuration
	// Generations holds the last MaxGenerations generations, the oldest first; it must not be changed.
	Generations []Generation

	origins origins
}

// Origin returns where the object of a qualified name was declared; empty where no provider says so.
func (s *State) Origin(ref dynamic.Ref) dynamic.Origin {
	origin, _ := s.origins.of(ref)
	return origin
}

// publishState makes the State that readers see from now on.
func (p *Pipeline) publishState() {
	state := &State{
		State: provider.State{
			Included: p.active.included, Verdicts: p.published, Active: p.active.verdicts, Settled: p.active.final,
		},
		Generation:    p.active.generation,
		Activated:     p.active.activated,
		Ready:         p.ready(),
		Providers:     p.update.States,
		Configuration: p.active.configuration,
		Generations:   p.generations,
		origins:       p.active.origins,
	}
	told, news := p.news, state.brings(p.state.Load())
	if news {
		p.news = make(chan struct{})
	}
	state.Changed = p.news
	p.state.Store(state)
	if news {
		close(told)
	}
	if state.Ready && !p.opened {
		p.opened = true
		close(p.first)
	}
}

// ready reports whether every required provider has delivered its first state and the active table contains it.
func (p *Pipeline) ready() bool {
	if p.active.generation == 0 {
		return false
	}
	for name, status := range p.update.States {
		if !status.Required || status.State == dynamic.StateAbsent {
			continue
		}
		delivered := p.update.Configurations[name] != nil
		if status.State != dynamic.StateSynced || (delivered && p.active.included[name] == nil) {
			return false
		}
	}
	return true
}

// SameProviders reports whether every provider stands as it does in the other State. When it last said something, and
// since when it stands so, does not count.
func (s *State) SameProviders(other *State) bool {
	if len(s.Providers) != len(other.Providers) {
		return false
	}
	for name, status := range s.Providers {
		before, known := other.Providers[name]
		if !known || before.State != status.State || before.Reason != status.Reason || before.Required != status.Required {
			return false
		}
	}
	return true
}

// brings reports whether the State differs from the one before.
func (s *State) brings(before *State) bool {
	return s.Generation != before.Generation || s.Ready != before.Ready || s.Settled != before.Settled ||
		!sameList(s.Verdicts, before.Verdicts) || !sameList(s.Generations, before.Generations) || !s.SameProviders(before) ||
		!sameList(s.Active, before.Active) && !slices.Equal(s.Active, before.Active) ||
		!maps.EqualFunc(s.Included, before.Included, sameOrigins)
}

// sameOrigins reports whether what two configurations declare comes from the same places.
func sameOrigins(a, b *dynamic.Configuration) bool { return a == b || a.Origins.Same(b.Origins) }

// sameList reports whether two lists that are replaced and never written to are one.
func sameList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
