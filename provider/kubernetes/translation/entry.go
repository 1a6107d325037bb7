package translation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// entry is what is kept of one source.
type entry struct {
	source Source
	origin dynamic.Origin
	// refs are the objects that it declares, sorted; needs is what its translation read, sorted.
	refs  []dynamic.Ref
	needs []Source
	// found are the verdicts of its translation, verdicts those that follow with the conflicts with other sources.
	found, verdicts []dynamic.Verdict
}

// finds reports whether a verdict of the translation is about an object.
func (e *entry) finds(ref dynamic.Ref) bool {
	return slices.ContainsFunc(e.found, func(verdict dynamic.Verdict) bool { return verdict.Ref == ref })
}

func compareRefs(a, b dynamic.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// replace takes the result of translating a source again, which is not ok when it declares nothing any more, and
// reports whether the result differs from the last one.
func (m *Memory) replace(source Source, result Result, ok bool) (changed bool) {
	by := m.entries[source]
	switch {
	case by == nil && !ok:
		return false
	case by == nil:
		by = &entry{source: source}
		m.entries[source] = by
	case !ok:
		delete(m.entries, source)
		result = Result{}
	}
	m.depend(by, result.Needs)
	for ref, object := range result.Objects {
		changed = m.declare(by, ref, object) || changed
	}
	for _, ref := range by.refs {
		if _, still := result.Objects[ref]; !still {
			m.withdraw(by, ref)
			changed = true
		}
	}
	by.refs = slices.SortedFunc(maps.Keys(result.Objects), compareRefs)
	if !sameOrigin(by.origin, result.Origin) {
		by.origin = result.Origin
		changed = true
		for _, ref := range by.refs {
			m.dirty[ref] = struct{}{}
		}
	}
	found := slices.Clone(result.Verdicts)
	for i := range found {
		if found[i].Origin == (dynamic.Origin{}) || sameOrigin(found[i].Origin, by.origin) {
			found[i].Origin = by.origin
		}
	}
	if !slices.Equal(found, by.found) {
		by.found = found
		changed = true
	}
	if changed {
		m.judged[by] = struct{}{}
	}
	return changed
}

// sameOrigin compares origins by what they say.
func sameOrigin(a, b dynamic.Origin) bool {
	if a.Resource != nil && b.Resource != nil && *a.Resource == *b.Resource {
		a.Resource = b.Resource
	}
	return a == b
}

// depend notes what a source needs now.
func (m *Memory) depend(by *entry, needs []Source) {
	needs = slices.Clone(needs)
	slices.SortFunc(needs, Source.Compare)
	needs = m.shared(slices.Compact(needs))
	if slices.Equal(needs, by.needs) {
		return
	}
	for _, need := range by.needs {
		if _, still := slices.BinarySearchFunc(needs, need, Source.Compare); !still {
			m.forget(need, by)
		}
	}
	for _, need := range needs {
		if _, already := slices.BinarySearchFunc(by.needs, need, Source.Compare); !already {
			m.dependents[need] = append(m.dependents[need], by)
		}
	}
	by.needs = needs
}

// shared returns the needs in the memory of a source that has the same ones, as objects with the same parents do, or
// without unused memory.
func (m *Memory) shared(needs []Source) []Source {
	if len(needs) == 0 {
		return nil
	}
	rarest := m.dependents[needs[0]]
	for _, need := range needs[1:] {
		if others := m.dependents[need]; len(others) < len(rarest) {
			rarest = others
		}
	}
	if len(rarest) > 0 {
		if known := rarest[len(rarest)-1].needs; slices.Equal(known, needs) {
			return known
		}
	}
	return slices.Clone(needs)
}

// forget notes that a source does not need another one any more.
func (m *Memory) forget(need Source, by *entry) {
	list := m.dependents[need]
	last := len(list) - 1
	if last == 0 {
		delete(m.dependents, need)
		return
	}
	place := slices.Index(list, by)
	list[place], list[last] = list[last], nil
	m.dependents[need] = list[:last]
}
