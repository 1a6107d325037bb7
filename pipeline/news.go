package pipeline

import (
	"github.com/sluiceproxy/sluice/dynamic"
)

// Difference returns what has become known between the Verdicts of two States: every verdict of each object whose
// verdicts are new or have changed, and an accepting one for each object that has none any more. Both lists are new,
// and in order of kind and name.
func Difference(before, after []dynamic.Verdict) (worse, recovered []dynamic.Verdict) {
	return difference(before, after)
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
		!sameList(s.Verdicts, before.Verdicts) || !sameList(s.Generations, before.Generations) || !s.SameProviders(before)
}

// sameList reports whether two lists that are replaced and never written to are one.
func sameList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// publish replaces the State, and notifies waiters if it has changed.
func (p *Pipeline) publish(state *State) {
	if before := p.state.Load(); !state.brings(before) {
		state.Changed = before.Changed
		p.state.Store(state)
		return
	}
	changed := p.news
	p.news = make(chan struct{})
	state.Changed = p.news
	p.state.Store(state)
	close(changed)
}
