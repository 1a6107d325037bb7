package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// mergeInput is what a merge is made of.
type mergeInput struct {
	// configurations are those of all providers; the map must not change afterwards.
	configurations map[string]*dynamic.Configuration
	// providers are the names of those whose configuration is another one than in the merge before.
	providers []string
	// touched are objects with changed files, by their references in the merged configuration.
	touched map[dynamic.Ref]struct{}
	// verdicts are those of the latest table, sorted: an object that they quarantine has no valid definition.
	verdicts []dynamic.Verdict
	now      time.Time
}

// edit is one merge that is under way. It collects what changes.
type edit struct {
	mergeInput
	// provider is the one whose configuration is being walked, before its configuration in the merge before, and refusals
	// the objects that it refuses itself.
	provider              string
	configuration, before *dynamic.Configuration
	refusals              map[dynamic.Ref]refusals
	// unguarded are the objects whose last valid definition may not be used any more.
	unguarded map[dynamic.Ref]struct{}

	changed map[dynamic.Ref]struct{}
	// refused are the verdicts on objects of the provider that take no part, lost those on objects before which that of
	// another provider stands.
	refused, lost []dynamic.Verdict
	// elected names the providers of the global objects. renamed has the references of these, under which they are merged,
	// by those that they would have under their providers' names.
	elected map[dynamic.Ref]string
	renamed map[dynamic.Ref]dynamic.Ref
}

// qualify returns the reference of a provider's object in the merged configuration.
func qualify(ref dynamic.Ref, provider string) dynamic.Ref {
	if ref.Name == "" {
		return dynamic.Ref{Kind: ref.Kind, Name: provider}
	}
	return dynamic.Ref{Kind: ref.Kind, Name: ref.Name + "@" + provider}
}

// unqualify is the reverse of qualify. The provider of an object that belongs to none is empty.
func unqualify(ref dynamic.Ref) (own dynamic.Ref, provider string) {
	at := strings.LastIndexByte(ref.Name, '@')
	if at < 0 {
		return ref, ""
	}
	return dynamic.Ref{Kind: ref.Kind, Name: ref.Name[:at]}, ref.Name[at+1:]
}

func (e *edit) change(ref dynamic.Ref) { e.changed[ref] = struct{}{} }

// refuse leaves an object of the current provider out of the merge, visibly.
func (e *edit) refuse(ref dynamic.Ref, reason refusal) {
	e.refused = append(e.refused, dynamic.Verdict{
		Ref:    qualify(ref, e.provider),
		Origin: e.configuration.Origins.Get(ref),
		Status: dynamic.Quarantined,
		Code:   reason.code,
		Reason: reason.text,
	})
}

// sortedRefs returns references in order of kind and name.
func sortedRefs(refs map[dynamic.Ref]struct{}) []dynamic.Ref {
	return slices.SortedFunc(maps.Keys(refs), compareRefs)
}

func compareRefs(a, b dynamic.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}
