package dynamic

// Message is what a provider sends: its whole declared state, endpoint sets, or both.
type Message struct {
	// Provider is the part behind @ of qualified names.
	Provider string
	// Configuration is the provider's whole declared state; nil means no change.
	Configuration *Configuration
	// Endpoints are whole sets, one for each key in this message.
	Endpoints []EndpointSet
	// State is the provider's state; StateUnchanged means no change.
	State ProviderState
	// Reason explains the state; empty when synced.
	Reason string
}

// ProviderState is how far a provider has got.
type ProviderState uint8

// The states of a provider. Ready counts synced and absent ones.
const (
	// StateUnchanged leaves the state as it was; a first Configuration makes a pending provider synced.
	StateUnchanged ProviderState = iota
	// StatePending has not delivered its first state.
	StatePending
	// StateSynced has delivered its first state.
	StateSynced
	// StateAbsent has nothing to watch: its API does not exist.
	StateAbsent
	// StateForbidden may not read its source.
	StateForbidden
	// StateTimedOut got no answer from its source.
	StateTimedOut
)

// String returns the state's name as it is printed by /ready.
func (s ProviderState) String() string {
	switch s {
	case StateUnchanged:
		return "unchanged"
	case StatePending:
		return "pending"
	case StateSynced:
		return "synced"
	case StateAbsent:
		return "absent"
	case StateForbidden:
		return "forbidden"
	case StateTimedOut:
		return "timed out"
	}
	return "unknown"
}
