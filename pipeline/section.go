package pipeline

import (
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/assembly"
)

// section merges the objects of one kind.
type section struct {
	kind assembly.Kind
	// global is true where an object named default belongs to no provider (TLS options and stores).
	global bool
	// merged is what all sections write to.
	merged *assembly.Builder
	// declared holds what each provider has declared, by its name.
	declared map[string]*declaration
}

// declaration is what one provider has declared of one kind, by the objects' own names.
type declaration struct {
	// last is the configuration that was walked last; what has the same pointer there has not changed. It is nil where
	// something of it was refused, which must be reported each time.
	last    *dynamic.Configuration
	objects map[string]*object
}

func newSection(kind assembly.Kind, merged *assembly.Builder) *section {
	return &section{
		kind: kind, merged: merged, declared: map[string]*declaration{},
		global: kind.Name() == dynamic.KindTLSOptions || kind.Name() == dynamic.KindTLSStore,
	}
}

// object returns what is remembered of an object, or nil.
func (d *declaration) object(name string) *object {
	if d == nil {
		return nil
	}
	return d.objects[name]
}

// update takes what the edit's provider declares now. It looks at the objects that were written to since the last
// configuration where its revision names them, at none where the provider sent the same map again, and at each object
// otherwise.
func (s *section) update(e *edit) {
	own := s.declared[e.provider]
	if own == nil {
		own = &declaration{objects: map[string]*object{}}
		s.declared[e.provider] = own
	}
	before := own.last
	own.last = e.configuration
	if before != nil && (s.kind.Same(before, e.configuration) || s.updateWritten(e, own, before)) {
		return
	}
	s.updateAll(e, own, before)
}

// updateWritten looks at the objects that were written to since a configuration, and reports false where it does not know
// them, or one must be refused. It may have taken some of them then.
func (s *section) updateWritten(e *edit, own *declaration, before *dynamic.Configuration) bool {
	written, known := e.configuration.Revision.Since(before.Revision)
	if !known {
		return false
	}
	for _, ref := range written {
		if ref.Kind != s.kind.Name() {
			continue
		}
		value := s.kind.Get(e.configuration, ref.Name)
		one := own.objects[ref.Name]
		switch {
		case value != nil && refusal(ref.Name, false) != "":
			return false
		case value != nil:
			s.take(e, own.objects, ref.Name, value)
		case one != nil:
			delete(own.objects, ref.Name)
			s.remove(e, ref.Name, one.ref)
		}
	}
	return true
}

// updateAll looks at each object. Before is the configuration that was looked at last; nil means none.
func (s *section) updateAll(e *edit, own *declaration, before *dynamic.Configuration) {
	present := 0
	for name, value := range s.kind.All(e.configuration) {
		switch {
		case before != nil && value != nil && s.kind.Get(before, name) == value:
			present++
		case s.take(e, own.objects, name, value):
			present++
		default:
			own.last = nil
		}
	}
	if present == len(own.objects) {
		return
	}
	for name, one := range own.objects {
		if refusal(name, s.kind.Get(e.configuration, name) == nil) == "" {
			continue
		}
		delete(own.objects, name)
		s.remove(e, name, one.ref)
	}
}

// take takes one object that is new or has another pointer than last, and reports false when it refuses it.
func (s *section) take(e *edit, known map[string]*object, name string, value any) bool {
	own := dynamic.Ref{Kind: s.kind.Name(), Name: name}
	one, ok := known[name]
	switch {
	case ok && value != nil:
		if one.renew(value) {
			s.put(e, name, one)
		}
		return true
	case refusal(name, value == nil) != "":
		e.refuse(own, refusal(name, value == nil))
		return false
	}
	one = &object{declared: value, kept: value, ref: e.qualify(own)}
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

func (s *section) belongsToAll(name string) bool {
	return s.global && name == dynamic.DefaultTLSName
}

func (s *section) put(e *edit, name string, one *object) {
	if s.belongsToAll(name) {
		return // elect decides who defines it
	}
	s.merged.Put(one.ref, one.kept)
	e.change(one.ref)
}

func (s *section) remove(e *edit, name string, ref dynamic.Ref) {
	if s.belongsToAll(name) {
		return
	}
	s.merged.Delete(ref)
	e.change(ref)
}

// elect decides which provider defines the object named default: the first one in order of precedence. The others get
// a verdict. Only one definition can be in force, and none at all would leave connections without the operator's choice.
//
// It adds the elected object's own reference to defaults, with the one under which it is merged.
func (s *section) elect(e *edit, providers []string, defaults map[dynamic.Ref]dynamic.Ref) {
	ref := dynamic.Ref{Kind: s.kind.Name(), Name: dynamic.DefaultTLSName}
	winner := ""
	var elected any
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
	switch current := s.merged.Get(ref); {
	case current == elected:
		return
	case elected == nil:
		s.merged.Delete(ref)
	default:
		s.merged.Put(ref, elected)
	}
	e.change(ref)
}
