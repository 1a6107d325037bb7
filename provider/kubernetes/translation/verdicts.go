package translation

import (
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// owned notes which source owns an object.
func (m *merge) owned(ref dynamic.Ref, by *entry) {
	m.setConflict(ref, by, conflict{})
	if current, known := m.origins.Find(ref); !known || current != by.origin {
		m.origins.Set(m.editOrigins(), ref, by.origin)
		if len(by.found) > 0 {
			m.judged[by] = struct{}{}
		}
	}
}

// setConflict notes the conflict that a source has about an object; the zero conflict is none.
func (m *merge) setConflict(ref dynamic.Ref, by *entry, now conflict) {
	if by.conflicts[ref] == now {
		return
	}
	m.judged[by] = struct{}{}
	switch {
	case now == conflict{}:
		delete(by.conflicts, ref)
	case by.conflicts == nil:
		by.conflicts = map[dynamic.Ref]conflict{ref: now}
	default:
		by.conflicts[ref] = now
	}
}

// gone notes that no source declares an object any more.
func (m *merge) gone(ref dynamic.Ref) { m.origins.Delete(m.editOrigins(), ref) }

// compete notes that a second source declares an object, whether it declares it otherwise, and whether then neither
// declaration serves.
func (m *merge) compete(ref dynamic.Ref, owner, second *entry, otherwise, unused bool) {
	if !otherwise {
		m.setConflict(ref, second, conflict{})
		if len(second.found) > 0 {
			m.judged[second] = struct{}{}
		}
		return
	}
	m.setConflict(ref, second, conflict{with: owner, lost: true, unused: unused})
	if unused && !owner.conflicts[ref].unused {
		m.setConflict(ref, owner, conflict{with: second, unused: true})
	}
}

// editOrigins returns the edit of the origins that belongs to this update.
func (m *merge) editOrigins() *immutable.Edit {
	if m.originsEdit == nil {
		m.originsEdit = new(immutable.Edit)
	}
	return m.originsEdit
}

// find takes the verdicts of a translation.
func (m *merge) find(by *entry, result Result) {
	found := slices.Clone(result.Verdicts)
	for i := range found {
		if found[i].Origin == (dynamic.Origin{}) || sameOrigin(found[i].Origin, by.origin) {
			found[i].Origin = by.origin
		}
	}
	if !slices.Equal(found, by.found) {
		by.found = found
		m.judged[by] = struct{}{}
		m.changed[by] = struct{}{}
	}
}

// judge makes the verdicts of the entries whose findings may have changed, and reports whether any has.
func (m *merge) judge() (changed bool) {
	for one := range m.judged {
		verdicts := one.judge(m.origins)
		if slices.Equal(verdicts, one.verdicts) {
			continue
		}
		changed = true
		if one.verdicts = verdicts; len(verdicts) == 0 {
			delete(m.refused, one)
		} else {
			m.refused[one] = struct{}{}
		}
	}
	if len(m.judged) > 0 {
		m.judged = map[*entry]struct{}{}
	}
	return changed
}

// judge returns the verdicts on a source. Findings about an object that another source declares otherwise are
// left out, since they would hit that one; those that would quarantine an object that another source declares in the
// same words are about the source itself, for the same reason.
func (e *entry) judge(origins immutable.Map[dynamic.Ref, dynamic.Origin]) []dynamic.Verdict {
	var verdicts []dynamic.Verdict
	for _, verdict := range e.found {
		if e.conflicts[verdict.Ref].lost {
			continue
		}
		if verdict.Status == dynamic.Quarantined && !e.owns(verdict.Ref, origins) {
			verdict.Ref = dynamic.Ref{Kind: dynamic.KindSource, Name: e.source.String()}
		}
		verdicts = append(verdicts, verdict)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(e.conflicts), compareRefs) {
		verdicts = append(verdicts, e.disagreement(ref, e.conflicts[ref]))
	}
	return verdicts
}

// owns reports whether an object is the source's own: not one that another source declares first.
func (e *entry) owns(ref dynamic.Ref, origins immutable.Map[dynamic.Ref, dynamic.Origin]) bool {
	origin, declared := origins.Find(ref)
	return !declared || origin == e.origin
}

// disagreement returns the verdict on a source that declares an object otherwise than another one.
func (e *entry) disagreement(ref dynamic.Ref, c conflict) dynamic.Verdict {
	verdict := dynamic.Verdict{
		Ref: ref, Origin: e.origin, Status: dynamic.Quarantined, Code: dynamic.CodeConflictingName,
		Reason: "is declared otherwise by " + c.with.source.String(),
	}
	if c.unused {
		verdict.Reason += ", so neither is used"
	} else {
		verdict.Reason += ", which is used"
	}
	if c.lost {
		// The object is the other one's, and so would be a verdict on it.
		verdict.Ref = dynamic.Ref{Kind: dynamic.KindSource, Name: e.source.String()}
		verdict.Reason = ref.String() + " " + verdict.Reason
	}
	if !c.unused && ref.Kind == dynamic.KindService {
		// The declarations differ in options, or belong to the same namespace.
		verdict.Status = dynamic.Degraded
	}
	return verdict
}

// verdicts lists the verdicts of all sources, in their order.
func (m *merge) verdicts() []dynamic.Verdict {
	var all []dynamic.Verdict
	for _, one := range slices.SortedFunc(maps.Keys(m.refused), func(x, y *entry) int {
		return x.source.Compare(y.source)
	}) {
		all = append(all, one.verdicts...)
	}
	return all
}
