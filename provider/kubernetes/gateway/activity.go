package gateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
)

// activity is what is known of the listeners in the active table, by the names of their objects.
type activity struct {
	// known says that something is known.
	known bool
	// listeners are those that are active.
	listeners dynamic.Objects[dynamic.Listener]
	// refusals are why listeners are not served although the table has them.
	refusals map[string]Refusal
}

// activityOf returns the activity of a configuration that is active, with the verdicts on the table.
func activityOf(active *dynamic.Configuration, verdicts []dynamic.Verdict) activity {
	made := activity{known: true, refusals: map[string]Refusal{}}
	if active.Listeners != nil {
		made.listeners = active.Listeners.Listeners
	}
	for i := range verdicts {
		name, ours := cutProvider(verdicts[i].Ref.Name)
		if verdicts[i].Ref.Kind == dynamic.KindListener && ours && verdicts[i].Status == dynamic.Quarantined {
			made.refusals[name] = Refusal{string(gatewayv1.ListenerReasonInvalid), verdicts[i].Reason}
		}
	}
	return made
}

// activate takes what is active, and returns the names of the listeners about which it says something new. First says
// that nothing was known before.
func (s *Statuses) activate(active *dynamic.Configuration, verdicts []dynamic.Verdict) (changed []string, first bool) {
	next := activityOf(active, verdicts)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.activity
	s.activity = next
	changed = slices.Collect(next.listeners.Changed(before.listeners))
	for _, refusals := range []map[string]Refusal{before.refusals, next.refusals} {
		for name := range refusals {
			if before.refusals[name] != next.refusals[name] {
				changed = append(changed, name)
			}
		}
	}
	return changed, !before.known
}

// known reports whether it is known what is active.
func (s *Statuses) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.activity.known
}

// inactive returns why a declared listener does not serve; nil when it does.
func (s *Statuses) inactive(key listenerKey, declared *dynamic.Listener) *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := key.object()
	if active := s.activity.listeners.Get(name); active == nil || *active != *declared {
		return &Refusal{string(gatewayv1.ListenerReasonPending), "the listener is not active yet"}
	}
	if refusal, refused := s.activity.refusals[name]; refused {
		return &refusal
	}
	return nil
}
