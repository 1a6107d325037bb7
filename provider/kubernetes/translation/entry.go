package translation

import (
	"cmp"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// entry is what is remembered of one source.
type entry struct {
	source Source
	origin dynamic.Origin
	// refs are the objects that it declares, sorted; needs is what its translation read, sorted.
	refs  []dynamic.Ref
	needs []Source
	// found are the verdicts of its translation, conflicts the other sources that declare an object otherwise, and
	// verdicts what follows from both.
	found     []dynamic.Verdict
	conflicts map[dynamic.Ref]conflict
	verdicts  []dynamic.Verdict
}

// conflict is that of a source with another one that declares the same object otherwise.
type conflict struct {
	with *entry
	// lost is set when the other one owns the object, unused when neither declaration serves.
	lost, unused bool
}

func compareRefs(a, b dynamic.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// replace takes the result of translating a source again; ok is false when it declares nothing any more.
func (m *Memory) replace(source Source, result Result, ok bool) {
	one := m.entries[source]
	switch {
	case one == nil && !ok:
		return
	case one == nil:
		one = &entry{source: source}
		m.entries[source] = one
	case !ok:
		delete(m.entries, source)
		result = Result{}
	}
	m.depend(one, result.Needs)
	m.merge.replace(one, result)
}

// depend notes what a source needs now.
func (m *Memory) depend(one *entry, needs []Source) {
	needs = slices.Clone(needs)
	slices.SortFunc(needs, Source.Compare)
	needs = slices.Compact(needs)
	if slices.Equal(needs, one.needs) {
		return
	}
	for _, need := range one.needs {
		if _, still := slices.BinarySearchFunc(needs, need, Source.Compare); !still {
			m.forget(need, one)
		}
	}
	for _, need := range needs {
		if _, already := slices.BinarySearchFunc(one.needs, need, Source.Compare); !already {
			m.dependents[need] = append(m.dependents[need], one)
		}
	}
	one.needs = slices.Clip(needs)
}

// forget notes that a source does not need another one any more.
func (m *Memory) forget(need Source, one *entry) {
	list := m.dependents[need]
	last := len(list) - 1
	if last == 0 {
		delete(m.dependents, need)
		return
	}
	place := slices.Index(list, one)
	list[place], list[last] = list[last], nil
	m.dependents[need] = list[:last]
}
