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
	// declared holds what each provider has declared, by its name and the object's own one.
	declared map[string]map[string]*object[T]
}

func newSection[T any](kind dynamic.Kind) *section[T] {
	return &section[T]{kind: kind, merged: map[string]*T{}, declared: map[string]map[string]*object[T]{}}
}

func newGlobalSection[T any](kind dynamic.Kind) *section[T] {
	s := newSection[T](kind)
	s.global = true
	return s
}

// update takes what one provider declares now. It looks at each object once, and only at this provider's.
func (s *section[T]) update(e *edit, declared map[string]*T) {
	known := s.declared[e.provider]
	if known == nil {
		known = make(map[string]*object[T], len(declared))
		s.declared[e.provider] = known
	}
	present := 0
	for name, value := range declared {
		one, ok := known[name]
		if !ok || value == nil {
			if reason := refusal(name, value == nil); reason != "" {
				e.refuse(dynamic.Ref{Kind: s.kind, Name: name}, reason)
				continue
			}
			one = &object[T]{declared: value, kept: value, ref: e.qualify(dynamic.Ref{Kind: s.kind, Name: name})}
			known[name] = one
			s.put(e, name, one)
		} else if one.renew(value) {
			s.put(e, name, one)
		}
		present++
		if !s.belongsToAll(name) {
			e.locate(one.ref, name, &one.origin)
		}
	}
	if present == len(known) {
		return
	}
	for name, one := range known {
		if refusal(name, declared[name] == nil) == "" {
			continue
		}
		delete(known, name)
		s.remove(e, name, one.ref)
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
	e.unlocate(ref)
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
		one, ok := s.declared[name][dynamic.DefaultTLSName]
		if !ok {
			continue
		}
		origin := e.originOf(name, ref)
		if winner == "" {
			winner, elected = name, one.kept
			e.setOrigin(ref, origin)
			defaults[one.ref] = ref
			continue
		}
		e.lose(dynamic.Verdict{
			Ref:    one.ref,
			Origin: origin,
			Status: dynamic.Quarantined,
			Reason: "provider \"" + winner + "\" defines " + ref.Name + " already and comes first in providers.precedence",
		})
	}
	current, ok := s.merged[ref.Name]
	switch {
	case winner == "" && ok:
		delete(s.writable(), ref.Name)
		e.unlocate(ref)
		e.change(ref)
	case winner != "" && current != elected:
		s.writable()[ref.Name] = elected
		e.change(ref)
	}
}
