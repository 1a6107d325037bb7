package translation

import (
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// section holds what all sources declare of one kind.
type section struct {
	kind dynamic.Kind
	// objects are those that are in force.
	objects objects
	owners  map[string]owners
	// dirty are the names whose declarations have changed in this update.
	dirty map[string]struct{}
}

// objects is where a section puts its objects; dynamic.Builder is one, and certificates is another.
type objects interface {
	Get(ref dynamic.Ref) any
	Put(ref dynamic.Ref, object any)
	Delete(ref dynamic.Ref)
}

// declaration is one source's declaration of a name.
type declaration struct {
	by     *entry
	object any
}

// owners are all declarations of one name. The first one owns it; nearly always it is the only one. The others are
// sorted.
type owners struct {
	first  declaration
	others []declaration
}

func compareDeclarations(a, b declaration) int { return a.by.source.Compare(b.by.source) }

func newSection(kind dynamic.Kind, into objects) *section {
	return &section{kind: kind, objects: into, owners: map[string]owners{}, dirty: map[string]struct{}{}}
}

func (s *section) ref(name string) dynamic.Ref { return dynamic.Ref{Kind: s.kind, Name: name} }

// touch makes a name be settled again.
func (s *section) touch(name string) { s.dirty[name] = struct{}{} }

// declare notes that a source declares an object, and reports false when it declared the same before.
func (s *section) declare(by *entry, name string, object any) bool {
	all, known := s.owners[name]
	if !known || all.first.by == by {
		if known && dynamic.Equal(all.first.object, object) {
			return false
		}
		all.first = declaration{by, object}
	} else {
		place := slices.IndexFunc(all.others, func(d declaration) bool { return d.by == by })
		if place >= 0 && dynamic.Equal(all.others[place].object, object) {
			return false
		}
		if place >= 0 {
			all.others[place].object = object
		} else {
			all.add(declaration{by, object})
		}
	}
	s.owners[name] = all
	s.touch(name)
	return true
}

// add puts a new declaration in its place.
func (o *owners) add(next declaration) {
	if compareDeclarations(next, o.first) < 0 {
		o.first, next = next, o.first
	}
	place, _ := slices.BinarySearchFunc(o.others, next, compareDeclarations)
	o.others = slices.Insert(o.others, place, next)
}

// withdraw notes that a source does not declare a name any more.
func (s *section) withdraw(by *entry, name string) {
	all := s.owners[name]
	s.touch(name)
	switch {
	case all.first.by != by:
		all.others = slices.DeleteFunc(all.others, func(d declaration) bool { return d.by == by })
	case len(all.others) == 0:
		delete(s.owners, name)
		return
	default:
		all.first = all.others[0]
		all.others = slices.Delete(all.others, 0, 1)
	}
	s.owners[name] = all
}

// settle decides about every name whose declarations have changed, notes the outcome for each of its sources, and
// reports whether any object is another one now.
func (s *section) settle(m *merge) (changed bool) {
	for name := range s.dirty {
		ref := s.ref(name)
		all, declared := s.owners[name]
		if !declared {
			m.gone(ref)
			s.objects.Delete(ref)
			changed = true
			continue
		}
		current := s.objects.Get(ref)
		if current != nil && current != all.first.object && dynamic.Equal(current, all.first.object) {
			all.first.object = current
			s.owners[name] = all
		}
		if all.first.object != current {
			s.objects.Put(ref, all.first.object)
			changed = true
		}
		m.owned(ref, all.first.by)
		for i, other := range all.others {
			same := other.object == all.first.object || dynamic.Equal(other.object, all.first.object)
			if same {
				all.others[i].object = all.first.object
			}
			m.compete(ref, all.first.by, other.by, !same, conflicting(ref, all.first, other))
		}
	}
	if len(s.dirty) > 0 {
		s.dirty = map[string]struct{}{} // A cleared map still costs its largest size with each walk.
	}
	return changed
}

// conflicting reports whether a name with two different declarations must not serve at all. A global object must not:
// the other declaration could be what protects a third namespace. Across namespaces it must
// not: a reference to the name would be protected, or answered, by what another namespace has declared. But services
// that name one endpoint set differ in options alone, and routers are not referred to. Nor must it serve where one
// namespace means two Services by a name (port c of a-b, and port b-c of a).
func conflicting(ref dynamic.Ref, first, other declaration) bool {
	switch {
	case ref.IsGlobal():
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

// endpointSet returns the key of the endpoint set that a service names; empty for everything else.
func endpointSet(object any) string {
	if service, ok := object.(*dynamic.Service); ok && service.LoadBalancer != nil {
		return service.LoadBalancer.EndpointSet
	}
	return ""
}
