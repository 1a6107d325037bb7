package pipeline

import (
	"github.com/sluiceproxy/sluice/dynamic"
)

// declaration is what one provider has declared, by its own names.
type declaration struct {
	// last is the configuration that was merged last: what is the same there has not changed.
	last    *dynamic.Configuration
	objects map[dynamic.Ref]*object
	// refused holds the reasons for which objects take no part in the merge.
	refused map[dynamic.Ref]string
}

func newDeclaration() *declaration {
	return &declaration{
		last: &dynamic.Configuration{}, objects: map[dynamic.Ref]*object{}, refused: map[dynamic.Ref]string{},
	}
}

// object returns what is remembered of an object, or nil.
func (d *declaration) object(ref dynamic.Ref) *object {
	if d == nil {
		return nil
	}
	return d.objects[ref]
}

// update takes what the edit's provider declares now.
func (m *merger) update(e *edit) {
	own := m.declared[e.provider]
	if own == nil {
		own = newDeclaration()
		m.declared[e.provider] = own
	}
	before := own.last
	own.last = e.configuration
	for _, kind := range dynamic.ObjectKinds() {
		for name := range kind.Changed(e.configuration, before) {
			value, declared := kind.Find(e.configuration, name)
			m.take(e, own, dynamic.Ref{Kind: kind.Kind(), Name: name}, value, declared)
		}
	}
	for ref, reason := range own.refused {
		e.refuse(ref, reason)
	}
}

// take takes one object that was added, has another pointer than before, or is not declared any more.
func (m *merger) take(e *edit, own *declaration, ref dynamic.Ref, value any, declared bool) {
	known, reason := own.objects[ref], refusal(ref.Name, value == nil)
	delete(own.refused, ref)
	switch {
	case reason == "" && known != nil:
		if known.renew(value) {
			m.put(e, ref, known)
		}
		return
	case reason == "":
		known = &object{declared: value, kept: value, ref: e.qualify(ref)}
		own.objects[ref] = known
		m.put(e, ref, known)
		return
	case declared:
		own.refused[ref] = reason
	}
	if known != nil {
		delete(own.objects, ref)
		m.remove(e, ref, known)
	}
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

// globals are the objects that belong to no provider: the default TLS options and the default store.
func globals() []dynamic.Ref {
	return []dynamic.Ref{
		{Kind: dynamic.KindTLSOptions, Name: dynamic.DefaultTLSName},
		{Kind: dynamic.KindTLSStore, Name: dynamic.DefaultTLSName},
	}
}

func isGlobal(ref dynamic.Ref) bool {
	return ref.Name == dynamic.DefaultTLSName && (ref.Kind == dynamic.KindTLSOptions || ref.Kind == dynamic.KindTLSStore)
}

func (m *merger) put(e *edit, own dynamic.Ref, one *object) {
	if isGlobal(own) {
		return // elect decides who defines it
	}
	m.builder.Put(one.ref, one.kept)
	e.change(one.ref)
}

func (m *merger) remove(e *edit, own dynamic.Ref, one *object) {
	if isGlobal(own) {
		return
	}
	m.builder.Delete(one.ref)
	e.change(one.ref)
}

// elect decides which provider defines a global object: the first one in order of precedence. The others get a verdict.
// Only one definition can be in force, and none at all would leave connections without the operator's choice.
//
// It adds the elected object's own reference to defaults, with the one under which it is merged.
func (m *merger) elect(e *edit, ref dynamic.Ref, providers []string, defaults map[dynamic.Ref]dynamic.Ref) {
	winner := ""
	var elected any
	for _, name := range providers {
		one := m.declared[name].object(ref)
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
			Code:   dynamic.CodeConflictingName,
			Reason: "provider \"" + winner + "\" defines " + ref.Name + " already and comes first in providers.precedence",
		})
	}
	switch current := m.builder.Get(ref); {
	case current == elected:
		return
	case elected == nil:
		m.builder.Delete(ref)
	default:
		m.builder.Put(ref, elected)
	}
	e.change(ref)
}
