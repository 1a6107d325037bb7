package api

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
)

// maxVerdicts is the maximum number of verdicts in a response of /ready.
const maxVerdicts = 100

// Readiness is the JSON of /ready.
type Readiness struct {
	// Ready is true when every required provider is synced or absent and its first state is active.
	Ready bool `json:"ready"`
	// Draining is true while Sluice terminates.
	Draining bool `json:"draining,omitempty"`
	// Generation is the number of the active table; 0 means none.
	Generation uint64 `json:"generation"`
	// AgeSeconds is how long this table has been active.
	AgeSeconds float64 `json:"ageSeconds"`
	// Providers are sorted by name.
	Providers []ProviderReadiness `json:"providers"`
	// Quarantined counts the quarantined objects.
	Quarantined int `json:"quarantined"`
	// Retained counts the objects whose last valid definition is in use because the declared one is invalid.
	Retained int `json:"retained"`
	// Verdicts lists the negative verdicts, at most 100; MoreVerdicts counts the rest.
	Verdicts     []Finding `json:"verdicts"`
	MoreVerdicts int       `json:"moreVerdicts,omitempty"`
}

// ProviderReadiness is the state of one provider.
type ProviderReadiness struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Required bool   `json:"required"`
	// Reason explains the state.
	Reason string `json:"reason,omitempty"`
	// AgeSeconds is how long the provider has been in this state.
	AgeSeconds float64 `json:"ageSeconds"`
	// LastMessageSeconds is the time since the provider's last message; absent before the first one.
	LastMessageSeconds *float64 `json:"lastMessageSeconds,omitempty"`
}

// Finding is a verdict as JSON.
type Finding struct {
	Kind   dynamic.Kind `json:"kind"`
	Name   string       `json:"name"`
	Status string       `json:"status"`
	// Code is the machine-readable form of Reason.
	Code   dynamic.Code `json:"code"`
	Reason string       `json:"reason"`
	// Since is when an invalid definition was first refused while the last valid one stays in use; absent otherwise.
	Since time.Time `json:"since,omitzero"`
	// Origin is where the object was declared: FILE:LINE or the object's name at its source.
	Origin string `json:"origin,omitempty"`
}

// NewFinding returns the JSON of a verdict.
func NewFinding(verdict dynamic.Verdict) Finding {
	return Finding{
		Kind:   verdict.Ref.Kind,
		Name:   verdict.Ref.Name,
		Status: verdict.Status.String(),
		Code:   verdict.ReasonCode(),
		Reason: verdict.Reason,
		Since:  verdict.Since,
		Origin: verdict.Origin.String(),
	}
}

// NewReadiness makes the report of a state.
func NewReadiness(state *pipeline.State) Readiness {
	now := time.Now()
	report := Readiness{
		Ready:       state.Ready,
		Generation:  state.Generation,
		AgeSeconds:  age(state.Activated, now),
		Providers:   NewProviders(state, now),
		Quarantined: pipeline.Count(state.Verdicts, dynamic.Quarantined),
		Retained:    pipeline.Count(state.Verdicts, dynamic.Retained),
		Verdicts:    make([]Finding, 0, min(len(state.Verdicts), maxVerdicts)),
	}
	for _, verdict := range state.Verdicts[:min(len(state.Verdicts), maxVerdicts)] {
		report.Verdicts = append(report.Verdicts, NewFinding(verdict))
	}
	report.MoreVerdicts = len(state.Verdicts) - len(report.Verdicts)
	return report
}

// NewProviders reports the providers of a state at the time now, sorted by name. It is never nil.
func NewProviders(state *pipeline.State, now time.Time) []ProviderReadiness {
	out := make([]ProviderReadiness, 0, len(state.Providers))
	for _, name := range slices.Sorted(maps.Keys(state.Providers)) {
		status := state.Providers[name]
		one := ProviderReadiness{
			Name:       name,
			State:      status.State.String(),
			Required:   status.Required,
			Reason:     status.Reason,
			AgeSeconds: age(status.Since, now),
		}
		if !status.LastMessage.IsZero() {
			seconds := age(status.LastMessage, now)
			one.LastMessageSeconds = &seconds
		}
		out = append(out, one)
	}
	return out
}

func (r Readiness) status() int {
	if r.Ready {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func ready(w http.ResponseWriter, state State, write func(http.ResponseWriter, int, any)) {
	report := NewReadiness(state.State())
	write(w, report.status(), report)
}

// age returns the seconds since a moment, rounded to milliseconds; 0 for the zero time.
func age(moment, now time.Time) float64 {
	if moment.IsZero() {
		return 0
	}
	return now.Sub(moment).Round(time.Millisecond).Seconds()
}
