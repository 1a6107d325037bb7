package router

import (
	"iter"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// graph records which object was built from which others, also from ones that do not exist yet.
type graph struct {
	dependents   map[dynamic.Ref]refSet
	dependencies map[dynamic.Ref][]dynamic.Ref
}

func newGraph() *graph {
	return &graph{
		dependents:   map[dynamic.Ref]refSet{},
		dependencies: map[dynamic.Ref][]dynamic.Ref{},
	}
}

// depend notes that from is built from on.
func (g *graph) depend(from, on dynamic.Ref) {
	set := g.dependents[on]
	if set.add(from) {
		g.dependents[on] = set
		g.dependencies[from] = append(g.dependencies[from], on)
	}
}

// forget drops what from is built from; what depends on from stays.
func (g *graph) forget(from dynamic.Ref) {
	for _, on := range g.dependencies[from] {
		if set := g.dependents[on]; set.remove(from) {
			delete(g.dependents, on)
		} else {
			g.dependents[on] = set
		}
	}
	delete(g.dependencies, from)
}

// affected returns the changed objects and everything that is built from them, directly or not.
func (g *graph) affected(changed []dynamic.Ref) map[dynamic.Ref]struct{} {
	reached := make(map[dynamic.Ref]struct{}, len(changed))
	queue := append([]dynamic.Ref(nil), changed...)
	for len(queue) > 0 {
		ref := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if _, known := reached[ref]; known {
			continue
		}
		reached[ref] = struct{}{}
		queue = slices.AppendSeq(queue, g.dependents[ref].all())
	}
	return reached
}

// maxFew is the size up to which a refSet is a slice: most objects have one dependent, and an entry of its own in a map
// takes twenty times the memory.
const maxFew = 8

// refSet is a set of references: a slice while it is small, then a map.
type refSet struct {
	few  []dynamic.Ref
	many map[dynamic.Ref]struct{}
}

// add reports whether the reference was not in the set.
func (s *refSet) add(ref dynamic.Ref) bool {
	if _, known := s.many[ref]; known || slices.Contains(s.few, ref) {
		return false
	}
	if s.many == nil && len(s.few) < maxFew {
		s.few = append(s.few, ref)
		return true
	}
	if s.many == nil {
		s.many = make(map[dynamic.Ref]struct{}, 2*maxFew)
		for _, one := range s.few {
			s.many[one] = struct{}{}
		}
		s.few = nil
	}
	s.many[ref] = struct{}{}
	return true
}

// remove reports whether the set is empty after the removal.
func (s *refSet) remove(ref dynamic.Ref) bool {
	delete(s.many, ref)
	if at := slices.Index(s.few, ref); at >= 0 {
		s.few = slices.Delete(s.few, at, at+1)
	}
	return len(s.few)+len(s.many) == 0
}

func (s refSet) all() iter.Seq[dynamic.Ref] {
	if s.many != nil {
		return maps.Keys(s.many)
	}
	return slices.Values(s.few)
}
