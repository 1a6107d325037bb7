package pipeline

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// declaration is what one provider has declared, by its own names.
type declaration struct {
	// last is the configuration that was merged last: what is the same there has not changed.
	last *dynamic.Configuration
	// sums holds the fingerprints of the objects that were sent again with another pointer.
	sums map[dynamic.Ref]uint64
	// refused holds the reasons for which objects take no part in the merge.
	refused map[dynamic.Ref]refusal
	// retained holds the objects whose last valid definition stays in use.
	retained map[dynamic.Ref]*retention
}

func newDeclaration() *declaration {
	return &declaration{
		last: &dynamic.Configuration{}, sums: map[dynamic.Ref]uint64{}, refused: map[dynamic.Ref]refusal{},
		retained: map[dynamic.Ref]*retention{},
	}
}

// same reports whether the next pointer that was sent for an object has the value of the merged one. Equal fingerprints
// are confirmed by value. A value that cannot be hashed counts as changed.
func (d *declaration) same(ref dynamic.Ref, merged, next any) bool {
	if merged == next {
		return true
	}
	before, known := d.sums[ref]
	delete(d.sums, ref)
	sum, err := dynamic.Fingerprint(next)
	if err != nil {
		return false
	}
	d.sums[ref] = sum
	if !known {
		if before, err = dynamic.Fingerprint(merged); err != nil {
			return false
		}
	}
	return before == sum && dynamic.Equal(merged, next)
}

// update takes what the edit's provider declares now. Of equal values the merged configuration keeps the oldest
// pointer. An object whose definition has become invalid keeps its last valid one.
func (m *merger) update(e *edit, own *declaration) {
	own.last = e.configuration
	for ref := range e.candidates(own) {
		value, declared := e.configuration.Find(ref)
		reason := refuse(ref.Name, value)
		delete(own.refused, ref)
		if reason.text != "" && declared {
			own.refused[ref] = reason
		}
		if ref.IsGlobal() { // elect chooses the provider that defines it.
			if declared && m.origins.elected[ref] == e.provider {
				m.retain(e, own, own.candidate(ref, ref, m.builder.Get(ref), value, reason))
			} else {
				own.release(ref)
			}
			continue
		}
		merged := qualify(ref, e.provider)
		current, absent := m.builder.Get(merged), reason.text != "" && !claims(value)
		next := own.candidate(ref, merged, current, value, reason)
		switch {
		case declared && m.retain(e, own, next):
			continue
		case absent && current == nil:
			continue
		case absent:
			own.release(ref)
			delete(own.sums, ref)
			m.builder.Delete(merged)
		case current != nil && next.same():
			if !e.isTouched(merged) {
				continue
			}
		default:
			m.builder.Put(merged, value)
		}
		e.change(merged)
	}
	for ref, reason := range own.refused {
		e.refuse(ref, reason)
	}
}

// claims reports whether an object is TLS options that name entrypoints. Such options keep their place also where they
// are refused: with others, which may be weaker, the entrypoints would accept connections.
func claims(object any) bool {
	options, ok := object.(*dynamic.TLSOptions)
	return ok && options != nil && len(options.EntryPoints) > 0
}

// refusal is the reason for which an object takes no part in the merge; the zero value is none.
type refusal struct {
	code dynamic.Code
	text string
}

// empty is the refusal of an object without content.
func empty() refusal { return refusal{dynamic.CodeInvalidOption, "it declares nothing"} }

func refuse(name string, value any) refusal {
	switch {
	case name == "":
		return refusal{dynamic.CodeInvalidName, "it has no name"}
	case strings.Contains(name, "@"):
		return refusal{dynamic.CodeInvalidName, "a name may not contain @, which separates it from its provider's name"}
	case value == nil:
		return empty()
	}
	if router, ok := value.(*dynamic.Router); ok && router.Match != nil {
		// A cycle would end the process where objects are compared, redacted or encoded.
		if err := router.Match.Validate(); err != nil {
			return refusal{dynamic.CodeInvalidRule, "rule: " + err.Error()}
		}
	}
	return refusal{}
}

// globals are the objects that belong to no provider: the default TLS options and the default store.
func globals() []dynamic.Ref {
	return []dynamic.Ref{
		{Kind: dynamic.KindTLSOptions, Name: dynamic.DefaultTLSName},
		{Kind: dynamic.KindTLSStore, Name: dynamic.DefaultTLSName},
	}
}

// elect decides which provider defines a global object: the first one in order of precedence. The others get a verdict.
// Only one definition can be in force, and none at all would leave connections without the operator's choice.
func (m *merger) elect(e *edit, ref dynamic.Ref, providers []string) {
	winner := ""
	var elected any
	for _, name := range providers {
		configuration := e.configurations[name]
		if configuration == nil {
			continue
		}
		object, own := configuration.Object(ref), qualify(ref, name)
		m.claim(e, own, object, winner != "")
		if object == nil {
			continue
		}
		if winner == "" {
			winner, elected = name, object
			e.elected[ref], e.renamed[own] = name, ref
			if _, changed := e.changed[own]; changed {
				e.change(ref) // Its verdicts have changed.
			}
			continue
		}
		e.lost = append(e.lost, dynamic.Verdict{
			Ref:    own,
			Origin: configuration.Origins.Get(ref),
			Status: dynamic.Quarantined,
			Code:   dynamic.CodeConflictingName,
			Reason: "provider \"" + winner + "\" defines " + ref.Name + " already and comes first in providers.precedence",
		})
	}
	for name, own := range m.declared {
		if name != winner || m.origins.elected[ref] != winner {
			own.release(ref)
		}
	}
	switch current := m.builder.Get(ref); {
	case current == elected || winner != "" && m.declared[winner].retained[ref] != nil:
		return
	case elected == nil:
		m.builder.Delete(ref)
	case current != nil && m.declared[winner].same(ref, current, elected):
		return
	default:
		m.builder.Put(ref, elected)
	}
	e.change(ref)
}

// claim keeps a global object that is not elected, under its provider's name, where it claims entrypoints.
func (m *merger) claim(e *edit, ref dynamic.Ref, object any, lost bool) {
	switch current, keep := m.builder.Get(ref), lost && claims(object); {
	case keep && current != object:
		m.builder.Put(ref, object)
	case !keep && current != nil:
		m.builder.Delete(ref)
	default:
		return
	}
	e.change(ref)
}
