package api

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
)

// maxVerdicts is how many verdicts an answer of /ready lists at most.
const maxVerdicts = 100

// Readiness is the JSON of /ready.
type Readiness struct {
	// Ready is true when every required provider is synced or absent and its first state serves.
	Ready bool `json:"ready"`
	// Draining is true when Sluice has been told to stop.
	Draining bool `json:"draining,omitempty"`
	// Generation counts the tables that have been put to work; 0 means none.
	Generation uint64 `json:"generation"`
	// AgeSeconds is how long the table of this generation has served.
	AgeSeconds float64 `json:"ageSeconds"`
	// Providers are in order of their names.
	Providers []ProviderReadiness `json:"providers"`
	// Quarantined counts the objects that are not put to work.
	Quarantined int `json:"quarantined"`
	// Verdicts lists what is wrong, at most 100 of them; MoreVerdicts counts the rest.
	Verdicts     []Finding `json:"verdicts"`
	MoreVerdicts int       `json:"moreVerdicts,omitempty"`
}

// ProviderReadiness says how one provider stands.
type ProviderReadiness struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Required bool   `json:"required"`
	// Reason says why the state is what it is.
	Reason string `json:"reason,omitempty"`
	// AgeSeconds is how long the provider has been in this state.
	AgeSeconds float64 `json:"ageSeconds"`
	// LastMessageSeconds is how long ago the provider's last message came; absent before the first one.
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
	// Origin says where the object was declared: FILE:LINE or the object's name at its source.
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
		Quarantined: pipeline.Quarantined(state.Verdicts),
		Verdicts:    make([]Finding, 0, min(len(state.Verdicts), maxVerdicts)),
	}
	for _, verdict := range state.Verdicts[:min(len(state.Verdicts), maxVerdicts)] {
		report.Verdicts = append(report.Verdicts, NewFinding(verdict))
	}
	report.MoreVerdicts = len(state.Verdicts) - len(report.Verdicts)
	return report
}

// NewProviders says how the providers of a state stand at a moment, in order of their names. It is never nil.
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

// age returns the seconds since a moment, in milliseconds' precision; 0 for a moment that is not set.
func age(moment, now time.Time) float64 {
	if moment.IsZero() {
		return 0
	}
	return now.Sub(moment).Round(time.Millisecond).Seconds()
}
