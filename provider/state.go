package provider

import "github.com/sluiceproxy/sluice/dynamic"

// State is what became of the configurations of providers. It is immutable.
type State struct {
	// Included holds, for every provider that has sent one, the very Configuration that is part of the active table; it is
	// older than the provider's last one while that is held back. It must not be changed.
	Included map[string]*dynamic.Configuration
	// Verdicts holds every verdict that is not Accepted, in order of kind and name, without those whose quiet window
	// is not over.
	Verdicts []dynamic.Verdict
	// Active holds the verdicts on the active table in the same order, also those whose quiet window is not over.
	Active []dynamic.Verdict
	// Settled says that the quiet window of the active table is over, so that Verdicts lacks nothing: an object of
	// Included that has no verdict there is accepted.
	Settled bool
	// Changed is closed when there is a State that differs.
	Changed <-chan struct{}
}

// Of returns the state with the configurations of these providers alone.
func (s State) Of(providers []string) State {
	own := make(map[string]*dynamic.Configuration, len(providers))
	for _, name := range providers {
		if included := s.Included[name]; included != nil {
			own[name] = included
		}
	}
	s.Included = own
	return s
}
