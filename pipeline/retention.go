package pipeline

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Validator judges the definition of one object by itself.
type Validator interface {
	// Validate returns the verdict on a definition: Quarantined where it is invalid. Everything that the object refers to
	// counts as valid. The object is a pointer as in dynamic.Configuration.Objects, or to a CertificateEntry.
	Validate(ref dynamic.Ref, object any) dynamic.Verdict
	// Guards returns what can restrict the access to an object of a configuration, sorted, each by kind and name.
	Guards(configuration *dynamic.Configuration, ref dynamic.Ref) []string
}

// retention is an object whose last valid definition stays in the merged configuration, since the one that its provider
// declares now is invalid.
type retention struct {
	// since is when the first invalid definition came after the valid one.
	since time.Time
	// refused is the invalid definition, cause the verdict on it; cause is zero where the provider has sent one itself.
	refused any
	cause   dynamic.Verdict
	// guards is what restricted the access to the object when it was retained.
	guards []string
}

// refusals are the reasons for which a provider refuses an object.
type refusals struct {
	// invalid is set where the definition itself is refused, other where something else is: a reference to what does not
	// exist, is invalid or not permitted, a name that another definition claims, or a protection that cannot be done.
	invalid, other bool
}

// refusalsOf returns the objects that a provider's own verdicts quarantine, by the provider's names.
func refusalsOf(verdicts []dynamic.Verdict) map[dynamic.Ref]refusals {
	found := map[dynamic.Ref]refusals{}
	for _, verdict := range verdicts {
		if verdict.Status != dynamic.Quarantined {
			continue
		}
		known := found[verdict.Ref]
		switch verdict.Code {
		case dynamic.CodeConflictingName, dynamic.CodeInvalidReference, dynamic.CodeReferenceNotPermitted,
			dynamic.CodeMissingEntryPoint:
			known.other = true
		default:
			other := verdict.Missing || verdict.Revokes
			known.other, known.invalid = known.other || other, known.invalid || !other
		}
		found[verdict.Ref] = known
	}
	return found
}

// candidate is a definition that may replace the one in the merged configuration.
type candidate struct {
	// own is the provider's reference, merged the one in the merged configuration.
	own, merged dynamic.Ref
	// current is the object in the merged configuration, next the declared one; both are pointers.
	current, next any
	// same reports whether next has the value of current. It compares them once.
	same func() bool
	// reason is why the merge refuses next; the zero value where it does not.
	reason refusal
}

func (d *declaration) candidate(own, merged dynamic.Ref, current, next any, reason refusal) candidate {
	same := sync.OnceValue(func() bool { return d.same(own, current, next) })
	return candidate{own: own, merged: merged, current: current, next: next, same: same, reason: reason}
}

// retain reports whether the last valid definition of an object stays in use because the next one is invalid.
func (m *merger) retain(e *edit, own *declaration, c candidate) bool {
	known := own.retained[c.own]
	refused := e.refusals[c.own]
	next := retention{since: e.now, refused: c.next}
	if known != nil {
		next.since, next.guards = known.since, known.guards
	}
	_, unguarded := e.unguarded[c.merged]
	if c.current == nil || refused.other || unguarded || known == nil && e.quarantined(c.merged) || e.replaced(c) {
		return own.release(c.own)
	}
	// Changed files of the definition in use are read also when another definition is declared.
	rebuild := e.isTouched(c.merged) && m.validator.Validate(c.merged, c.current).Status != dynamic.Quarantined
	switch {
	case refused.invalid || c.reason.text != "":
	case known != nil && known.refused == c.next && known.cause.Status == dynamic.Quarantined && !e.isTouched(c.merged):
		return true
	case !e.isTouched(c.merged) && c.same():
		return own.release(c.own)
	default:
		next.cause = m.validator.Validate(c.merged, c.next)
		switch code := next.cause.Code; {
		case next.cause.Status != dynamic.Quarantined, code == dynamic.CodeMissingEntryPoint,
			code == dynamic.CodeReferenceNotPermitted:
			return own.release(c.own)
		}
	}
	if known == nil {
		next.guards = m.validator.Guards(m.merged, c.merged)
	}
	if rebuild {
		e.change(c.merged)
	}
	delete(own.sums, c.own) // It is that of the definition which is not merged.
	own.retained[c.own] = &next
	return true
}

// unguarded returns the retained objects that something no longer protects which did when they were retained, and their
// providers. The objects to which a definition refers are those of today: an edit that moves an authentication from a
// chain to the routers that use it must not open those whose new definition is invalid.
func (m *merger) unguarded() (objects map[dynamic.Ref]struct{}, providers []string) {
	var current *dynamic.Configuration
	for provider, own := range m.declared {
		for ref, one := range own.retained {
			if len(one.guards) == 0 {
				continue
			}
			if current == nil {
				current = m.builder.Configuration()
				objects = map[dynamic.Ref]struct{}{}
			}
			merged := ref
			if !ref.IsGlobal() {
				merged = qualify(ref, provider)
			}
			guards := m.validator.Guards(current, merged)
			if slices.ContainsFunc(one.guards, func(guard string) bool { return !slices.Contains(guards, guard) }) {
				objects[merged] = struct{}{}
				providers = append(providers, provider)
			}
		}
	}
	slices.Sort(providers)
	return objects, slices.Compact(providers)
}

// release notes that the declared definition of an object is in use, or that none is. It returns false.
func (d *declaration) release(ref dynamic.Ref) bool {
	delete(d.retained, ref)
	return false
}

// quarantined reports whether an object in the latest table is quarantined; the first of its verdicts is the worst. Its
// provider may have understood it in part only.
func (e *edit) quarantined(ref dynamic.Ref) bool {
	at, found := slices.BinarySearchFunc(e.verdicts, ref, func(v dynamic.Verdict, ref dynamic.Ref) int {
		return compareRefs(v.Ref, ref)
	})
	return found && e.verdicts[at].Status == dynamic.Quarantined
}

// replaced reports whether another object of the cluster declares the name now than in the merge before.
func (e *edit) replaced(c candidate) bool {
	before, now := e.before.Origins.Get(c.own).Resource, e.configuration.Origins.Get(c.own).Resource
	return before != nil && now != nil && before.UID != now.UID
}

func (e *edit) isTouched(ref dynamic.Ref) bool {
	_, touched := e.touched[ref]
	return touched
}

// candidates returns the objects of the edit's provider, but certificates, that may have to be exchanged, by its own
// names: those that have changed, those that it refuses now or that are retained, and those with changed files.
func (e *edit) candidates(own *declaration) map[dynamic.Ref]struct{} {
	found := map[dynamic.Ref]struct{}{}
	for ref := range e.configuration.Changed(e.before) {
		found[ref] = struct{}{}
	}
	for _, ref := range slices.Concat(slices.Collect(maps.Keys(own.retained)), slices.Collect(maps.Keys(e.refusals))) {
		if ref.Kind != dynamic.KindCertificate && ref.Kind != dynamic.KindSource {
			found[ref] = struct{}{}
		}
	}
	for ref := range e.touched {
		if own, provider := unqualify(ref); provider == e.provider {
			found[own] = struct{}{}
		}
	}
	return found
}

// releaseCertificates drops what is retained of certificates that are not declared any more.
func (d *declaration) releaseCertificates(e *edit) {
	var declared map[dynamic.Ref]struct{} // Made when the first one is looked for.
	maps.DeleteFunc(d.retained, func(ref dynamic.Ref, _ *retention) bool {
		if ref.Kind != dynamic.KindCertificate {
			return false
		}
		if declared == nil {
			declared = e.certificates()
		}
		_, is := declared[ref]
		return !is
	})
}

// certificates returns the references of the certificates that the edit's provider declares, by its own names.
func (e *edit) certificates() map[dynamic.Ref]struct{} {
	refs := map[dynamic.Ref]struct{}{}
	if e.configuration.TLS == nil {
		return refs
	}
	for i, entry := range e.configuration.TLS.Certificates {
		if entry != nil {
			refs[certificateRef(i, entry, e.provider)] = struct{}{}
		}
	}
	return refs
}

// markRetained turns the verdicts on objects whose last valid definition stays in use into ones that say so, and adds
// those that only the merge has found.
func (d *declaration) markRetained(verdicts []dynamic.Verdict, e *edit) []dynamic.Verdict {
	if len(d.retained) == 0 {
		return verdicts
	}
	kept := make(map[dynamic.Ref]*retention, len(d.retained))
	for ref, one := range d.retained {
		merged := qualify(ref, e.provider)
		kept[merged] = one
		if cause := one.cause; cause.Status == dynamic.Quarantined {
			cause.Ref, cause.Origin = merged, e.configuration.Origins.Get(ref)
			verdicts = append(verdicts, cause)
		}
	}
	for i := range verdicts {
		if one := kept[verdicts[i].Ref]; one != nil && verdicts[i].Status == dynamic.Quarantined {
			verdicts[i].Status, verdicts[i].Since = dynamic.Retained, one.since
		}
	}
	return verdicts
}

// explainRetained completes the reasons of retained objects: since when, or why their last valid definition is not used
// either. These become quarantined, and their verdicts are left out of those of the compilation, which it returns.
func explainRetained(verdicts, compiled []dynamic.Verdict) []dynamic.Verdict {
	retained := map[dynamic.Ref]bool{}
	for _, verdict := range verdicts {
		if verdict.Status == dynamic.Retained {
			retained[verdict.Ref] = true
		}
	}
	if len(retained) == 0 {
		return compiled
	}
	unusable := map[dynamic.Ref]dynamic.Verdict{}
	compiled = slices.DeleteFunc(slices.Clone(compiled), func(v dynamic.Verdict) bool {
		if !retained[v.Ref] || v.Status != dynamic.Quarantined {
			return false
		}
		unusable[v.Ref] = v
		return true
	})
	for i := range verdicts {
		verdict := &verdicts[i]
		if verdict.Status != dynamic.Retained {
			continue
		}
		if fault, unused := unusable[verdict.Ref]; unused {
			verdict.Status, verdict.Since, verdict.Missing = dynamic.Quarantined, time.Time{}, fault.Missing
			verdict.Reason += "; the last valid definition is not used either: " + fault.Reason
			continue
		}
		verdict.Reason += "; refused since " + verdict.Since.UTC().Format(time.RFC3339) +
			", the last valid definition stays in use"
	}
	return compiled
}
