package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// edit is one merge that is under way. It collects what changes.
type edit struct {
	// provider is the one whose configuration is being walked.
	provider      string
	configuration *dynamic.Configuration

	configurations map[string]*dynamic.Configuration
	changed        map[dynamic.Ref]struct{}
	refused        []dynamic.Verdict
	lost           []dynamic.Verdict
	elected        map[dynamic.Ref]string
}

func hasAt(name string) bool { return strings.Contains(name, "@") }

// qualify returns the reference under which the object of the current provider is known everywhere else.
func (e *edit) qualify(ref dynamic.Ref) dynamic.Ref {
	if ref.Name == "" {
		return dynamic.Ref{Kind: ref.Kind, Name: e.provider}
	}
	return dynamic.Ref{Kind: ref.Kind, Name: ref.Name + "@" + e.provider}
}

func (e *edit) change(ref dynamic.Ref) { e.changed[ref] = struct{}{} }

// refuse leaves an object of the current provider out of the merge, visibly.
func (e *edit) refuse(ref dynamic.Ref, reason string) {
	e.refused = append(e.refused, dynamic.Verdict{
		Ref:    e.qualify(ref),
		Origin: e.configuration.Origins.Get(ref),
		Status: dynamic.Quarantined,
		Reason: reason,
	})
}

// lose notes the verdict of an object that another provider's one stands before.
func (e *edit) lose(verdict dynamic.Verdict) { e.lost = append(e.lost, verdict) }

// originOf returns where a provider declared an object.
func (e *edit) originOf(provider string, ref dynamic.Ref) dynamic.Origin {
	if configuration := e.configurations[provider]; configuration != nil {
		return configuration.Origins.Get(ref)
	}
	return dynamic.Origin{}
}

// sortedRefs returns references in order of kind and name.
func sortedRefs(refs map[dynamic.Ref]struct{}) []dynamic.Ref {
	return slices.SortedFunc(maps.Keys(refs), compareRefs)
}

func compareRefs(a, b dynamic.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}
