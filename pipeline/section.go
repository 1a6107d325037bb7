package pipeline

import (
	"maps"

	"github.com/sluiceproxy/sluice/dynamic"
)

// section merges the objects of one kind.
type section[T any] struct {
	kind dynamic.Kind
	// global is true where an object named default belongs to no provider (TLS options and stores).
	global bool
	// merged holds the objects by qualified name. It has been given away and is replaced, never written to.
	merged map[string]*T
	// own says that merged has been copied by the merge that is under way and may be written to.
	own bool
	// declared holds what each provider has declared, by its name.
	declared map[string]*declaration[T]
}

// declaration is what one provider has declared of one kind, by the objects' own names.
type declaration[T any] struct {
	// last is the map that was walked last; what has the same pointer there has not changed. It is nil where something of it
	// was refused, which must be said each time.
	last    map[string]*T
	objects map[string]*object[T]
}

func newSection[T any](kind dynamic.Kind) *section[T] {
	return &section[T]{kind: kind, merged: map[string]*T{}, declared: map[string]*declaration[T]{}}
}

func newGlobalSection[T any](kind dynamic.Kind) *section[T] {
	s := newSection[T](kind)
	s.global = true
	return s
}

// object returns what is remembered of an object, or nil.
func (d *declaration[T]) object(name string) *object[T] {
	if d == nil {
		return nil
	}
	return d.objects[name]
}

// update takes what one provider declares now. It looks at each object once, and only at this provider's.
func (s *section[T]) update(e *edit, declared map[string]*T) {
	own := s.declared[e.provider]
	if own == nil {
		own = &declaration[T]{objects: make(map[string]*object[T], len(declared))}
		s.declared[e.provider] = own
	}
	present, refused := 0, false
	for name, value := range declared {
		if before, ok := own.last[name]; ok && before == value {
			present++
			continue
		}
		if s.take(e, own.objects, name, value) {
			present++
		} else {
			refused = true
		}
	}
	if own.last = declared; refused {
		own.last = nil
	}
	if present == len(own.objects) {
		return
	}
	for name, one := range own.objects {
		if refusal(name, declared[name] == nil) == "" {
			continue
		}
		delete(own.objects, name)
		s.remove(e, name, one.ref)
	}
}

// take takes one object that is new or has another pointer than last, and reports false when it refuses it.
func (s *section[T]) take(e *edit, known map[string]*object[T], name string, value *T) bool {
	one, ok := known[name]
	switch {
	case ok && value != nil:
		if one.renew(value) {
			s.put(e, name, one)
		}
		return true
	case refusal(name, value == nil) != "":
		e.refuse(dynamic.Ref{Kind: s.kind, Name: name}, refusal(name, value == nil))
		return false
	}
	one = &object[T]{declared: value, kept: value, ref: e.qualify(dynamic.Ref{Kind: s.kind, Name: name})}
	known[name] = one
	s.put(e, name, one)
	return true
}

// refusal says why an object cannot take part in the merge; it is empty when it can.
func refusal(name string, empty bool) string {
	switch {
	case name == "":
		return "it has no name"
	case hasAt(name):
		return "a name may not contain @, which separates it from its provider's name"
	case empty:
		return "it declares nothing"
	}
	return ""
}

func (s *section[T]) belongsToAll(name string) bool {
	return s.global && name == dynamic.DefaultTLSName
}

func (s *section[T]) put(e *edit, name string, one *object[T]) {
	if s.belongsToAll(name) {
		return // elect decides who defines it
	}
	s.writable()[one.ref.Name] = one.kept
	e.change(one.ref)
}

func (s *section[T]) remove(e *edit, name string, ref dynamic.Ref) {
	if s.belongsToAll(name) {
		return
	}
	delete(s.writable(), ref.Name)
	e.change(ref)
}

// writable returns the merged map, copied once for each merge that changes it.
func (s *section[T]) writable() map[string]*T {
	if !s.own {
		s.merged, s.own = maps.Clone(s.merged), true
	}
	return s.merged
}

// release gives the merged map away.
func (s *section[T]) release() map[string]*T {
	s.own = false
	return s.merged
}

// elect decides which provider defines the object named default: the first one in order of precedence. The others get
// a verdict. Only one definition can be in force, and none at all would leave connections without the operator's choice.
//
// It adds the elected object's own reference to defaults, with the one that everybody else uses.
func (s *section[T]) elect(e *edit, providers []string, defaults map[dynamic.Ref]dynamic.Ref) {
	ref := dynamic.Ref{Kind: s.kind, Name: dynamic.DefaultTLSName}
	winner := ""
	var elected *T
	for _, name := range providers {
		one := s.declared[name].object(dynamic.DefaultTLSName)
		if one == nil {
			continue
		}
		if winner == "" {
			winner, elected = name, one.kept
			e.elected[ref] = name
			defaults[one.ref] = ref
			continue
		}
		e.lose(dynamic.Verdict{
			Ref:    one.ref,
			Origin: e.originOf(name, ref),
			Status: dynamic.Quarantined,
			Reason: "provider \"" + winner + "\" defines " + ref.Name + " already and comes first in providers.precedence",
		})
	}
	current, ok := s.merged[ref.Name]
	switch {
	case winner == "" && ok:
		delete(s.writable(), ref.Name)
		e.change(ref)
	case winner != "" && current != elected:
		s.writable()[ref.Name] = elected
		e.change(ref)
	}
}
