package pipeline

import (
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
)

// State is how everything stands at one moment. It is immutable.
type State struct {
	// Generation counts activated tables; 0 means that none has been activated yet.
	Generation uint64
	// Activated is when the table of this generation was put to work.
	Activated time.Time
	// Ready is true when a table is active, every required provider is synced or absent, and its first state is in the
	// active table.
	Ready bool
	// Providers holds the status of every provider by its name.
	Providers map[string]provider.Status
	// Verdicts holds every verdict that is not Accepted, in order of kind and name, without those whose quiet window
	// is not over.
	Verdicts []dynamic.Verdict
	// Configuration is the merged configuration that is active; it is nil before the first generation.
	Configuration *dynamic.Configuration
	// Included holds, for every provider that has spoken, the very Configuration that is part of the active table; it is
	// older than the provider's last one while that is held back. It must not be changed.
	Included map[string]*dynamic.Configuration
	// Settled says that the quiet window of the active table is over, so that Verdicts lacks nothing: an object of
	// Included that has no verdict there is accepted.
	Settled bool
	// Generations holds the last MaxGenerations generations, the oldest first; it must not be changed.
	Generations []Generation
	// News is closed when there is a State with a new generation, other verdicts, another readiness, or a provider that
	// stands otherwise. A State that follows another without any of that shares its channel.
	News <-chan struct{}
}

// publishState makes the State that readers see from now on.
func (p *Pipeline) publishState() {
	state := &State{
		Generation:    p.active.generation,
		Activated:     p.active.activated,
		Ready:         p.ready(),
		Providers:     p.update.States,
		Verdicts:      p.published,
		Configuration: p.active.configuration,
		Included:      p.active.included,
		Settled:       p.active.final,
		Generations:   p.generations,
	}
	p.tell(state)
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
