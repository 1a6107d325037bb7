package translation

import (
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// section holds the objects of one kind.
type section[T any] struct {
	kind dynamic.Kind
	// objects has been given away and is replaced, never written to, unless own says that it was copied by this update.
	objects map[string]*T
	own     bool
	claims  map[string]claims[T]
	// dirty are the names whose claims have changed in this update.
	dirty map[string]struct{}
}

// claim is one source's declaration of a name.
type claim[T any] struct {
	by     *entry
	object *T
}

// claims are all declarations of one name. The first one counts; nearly always it is the only one. The others are
// sorted.
type claims[T any] struct {
	first  claim[T]
	others []claim[T]
}

func compareClaims[T any](a, b claim[T]) int { return a.by.source.Compare(b.by.source) }

func newSection[T any](kind dynamic.Kind) *section[T] {
	return &section[T]{kind: kind, claims: map[string]claims[T]{}, dirty: map[string]struct{}{}}
}

func (s *section[T]) ref(name string) dynamic.Ref { return dynamic.Ref{Kind: s.kind, Name: name} }

// touch makes a name be settled again.
func (s *section[T]) touch(name string) { s.dirty[name] = struct{}{} }

// claim notes that a source declares an object, and reports false when it said the same before.
func (s *section[T]) claim(by *entry, name string, object *T) bool {
	all, known := s.claims[name]
	if !known || all.first.by == by {
		if known && dynamic.Equal(all.first.object, object) {
			return false
		}
		all.first = claim[T]{by, object}
	} else {
		place := slices.IndexFunc(all.others, func(c claim[T]) bool { return c.by == by })
		if place >= 0 && dynamic.Equal(all.others[place].object, object) {
			return false
		}
		if place >= 0 {
			all.others[place].object = object
		} else {
			all.add(claim[T]{by, object})
		}
	}
	s.claims[name] = all
	s.touch(name)
	return true
}

// add puts a new claim in its place.
func (c *claims[T]) add(next claim[T]) {
	if compareClaims(next, c.first) < 0 {
		c.first, next = next, c.first
	}
	place, _ := slices.BinarySearchFunc(c.others, next, compareClaims)
	c.others = slices.Insert(c.others, place, next)
}

// withdraw notes that a source does not declare a name any more.
func (s *section[T]) withdraw(by *entry, name string) {
	all := s.claims[name]
	s.touch(name)
	switch {
	case all.first.by != by:
		all.others = slices.DeleteFunc(all.others, func(c claim[T]) bool { return c.by == by })
	case len(all.others) == 0:
		delete(s.claims, name)
		return
	default:
		all.first = all.others[0]
		all.others = slices.Delete(all.others, 0, 1)
	}
	s.claims[name] = all
}

// settle decides about every name whose claims have changed, tells an assembly what became of each, and reports whether
// any object is another one now.
func (s *section[T]) settle(a *assembly) (changed bool) {
	for name := range s.dirty {
		ref := s.ref(name)
		all, declared := s.claims[name]
		current := s.objects[name]
		if !declared {
			a.gone(ref)
			delete(s.writable(), name)
			changed = true
			continue
		}
		if current != nil && current != all.first.object && dynamic.Equal(current, all.first.object) {
			all.first.object = current
			s.claims[name] = all
		}
		if all.first.object != current {
			s.writable()[name] = all.first.object
			changed = true
		}
		a.won(ref, all.first.by)
		for i, other := range all.others {
			same := other.object == all.first.object || dynamic.Equal(other.object, all.first.object)
			if same {
				all.others[i].object = all.first.object
			}
			a.rival(ref, all.first.by, other.by, !same, contested(ref, all.first, other))
		}
	}
	clear(s.dirty)
	return changed
}

// contested tells whether a name that is declared otherwise by somebody else must not be put to work at all. Across
// namespaces it must not: whoever refers to the name would be protected, or answered, by what others have declared. But
// services that name one endpoint set differ in options alone, and routers refer to things and are not referred to. Nor
// must it where one namespace means two Services by a name (port c of a-b, and port b-c of a).
func contested[T any](ref dynamic.Ref, first, other claim[T]) bool {
	switch {
	case belongsToNobody(ref):
		return true
	case ref.Kind == dynamic.KindRouter:
		return false
	}
	one, two := endpointSet(first.object), endpointSet(other.object)
	if first.by.source.Namespace == other.by.source.Namespace {
		return one != "" && two != "" && one != two
	}
	return one == "" || one != two
}

// belongsToNobody tells objects that hold for everybody, whoever declares them. When two sources disagree about one,
// neither may decide: the other one could be what protects a third party.
func belongsToNobody(ref dynamic.Ref) bool {
	return ref.Name == dynamic.DefaultTLSName && (ref.Kind == dynamic.KindTLSOptions || ref.Kind == dynamic.KindTLSStore)
}

// endpointSet returns the key of the endpoint set that a service names; empty for everything else.
func endpointSet(object any) string {
	if service, ok := object.(*dynamic.Service); ok && service.LoadBalancer != nil {
		return service.LoadBalancer.EndpointSet
	}
	return ""
}

// writable returns the objects, copied once for each update that changes them.
func (s *section[T]) writable() map[string]*T {
	switch {
	case s.own:
	case s.objects == nil:
		s.objects, s.own = map[string]*T{}, true
	default:
		s.objects, s.own = maps.Clone(s.objects), true
	}
	return s.objects
}

// release gives the objects away.
func (s *section[T]) release() map[string]*T {
	s.own = false
	return s.objects
}
