package translation

import (
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// won notes whose declaration of an object counts.
func (a *assembly) won(ref dynamic.Ref, by *entry) {
	a.stand(ref, by, rivalry{})
	if current, known := a.origins[ref]; !known || current != by.origin {
		a.writableOrigins()[ref] = by.origin
		if len(by.found) > 0 {
			a.judged[by] = struct{}{}
		}
	}
}

// stand notes how a source stands with the others that declare an object.
func (a *assembly) stand(ref dynamic.Ref, by *entry, now rivalry) {
	if by.rivals[ref] == now {
		return
	}
	a.judged[by] = struct{}{}
	switch {
	case now == rivalry{}:
		delete(by.rivals, ref)
	case by.rivals == nil:
		by.rivals = map[dynamic.Ref]rivalry{ref: now}
	default:
		by.rivals[ref] = now
	}
}

// gone notes that nobody declares an object any more.
func (a *assembly) gone(ref dynamic.Ref) { delete(a.writableOrigins(), ref) }

// rival notes that a source declares an object that belongs to another one, and whether it declares it otherwise.
func (a *assembly) rival(ref dynamic.Ref, winner, loser *entry, otherwise, contested bool) {
	if !otherwise {
		a.stand(ref, loser, rivalry{})
		if len(loser.found) > 0 {
			a.judged[loser] = struct{}{}
		}
		return
	}
	a.stand(ref, loser, rivalry{with: winner, lost: true, contested: contested})
	if contested && !winner.rivals[ref].contested {
		a.stand(ref, winner, rivalry{with: loser, contested: true})
	}
}

// writableOrigins returns the origins, copied once for each update that changes them.
func (a *assembly) writableOrigins() map[dynamic.Ref]dynamic.Origin {
	if !a.ownOrigins {
		a.origins, a.ownOrigins = maps.Clone(a.origins), true
	}
	return a.origins
}

// find takes the verdicts of a translation.
func (a *assembly) find(by *entry, result Result) {
	found := slices.Clone(result.Verdicts)
	for i := range found {
		if found[i].Origin == (dynamic.Origin{}) || sameOrigin(found[i].Origin, by.origin) {
			found[i].Origin = by.origin
		}
	}
	if !slices.Equal(found, by.found) {
		by.found = found
		a.judged[by] = struct{}{}
		a.changed[by] = struct{}{}
	}
}

// judge makes the verdicts of the entries whose findings may have changed, and reports whether any has.
func (a *assembly) judge() (changed bool) {
	for one := range a.judged {
		verdicts := one.judge(a.origins)
		if slices.Equal(verdicts, one.verdicts) {
			continue
		}
		changed = true
		if one.verdicts = verdicts; len(verdicts) == 0 {
			delete(a.speaking, one)
		} else {
			a.speaking[one] = struct{}{}
		}
	}
	clear(a.judged)
	return changed
}

// judge returns what is to be said about a source. Findings about an object that another source declares otherwise are
// left out, since they would hit that one; those that would quarantine an object that another source declares in the
// same words are about the source itself, for the same reason.
func (e *entry) judge(origins map[dynamic.Ref]dynamic.Origin) []dynamic.Verdict {
	var verdicts []dynamic.Verdict
	for _, verdict := range e.found {
		if e.rivals[verdict.Ref].lost {
			continue
		}
		if verdict.Status == dynamic.Quarantined && !e.owns(verdict.Ref, origins) {
			verdict.Ref = dynamic.Ref{Kind: dynamic.KindSource, Name: e.source.String()}
		}
		verdicts = append(verdicts, verdict)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(e.rivals), compareRefs) {
		verdicts = append(verdicts, e.disagreement(ref, e.rivals[ref]))
	}
	return verdicts
}

// owns reports whether an object is the source's own: not one that another source declares first.
func (e *entry) owns(ref dynamic.Ref, origins map[dynamic.Ref]dynamic.Origin) bool {
	origin, declared := origins[ref]
	return !declared || origin == e.origin
}

// disagreement returns what is to be said to a source about an object that another one declares otherwise.
func (e *entry) disagreement(ref dynamic.Ref, r rivalry) dynamic.Verdict {
	verdict := dynamic.Verdict{
		Ref: ref, Origin: e.origin, Status: dynamic.Quarantined,
		Reason: "is declared otherwise by " + r.with.source.String(),
	}
	if r.contested {
		verdict.Reason += ", so neither is used"
	} else {
		verdict.Reason += ", which is used"
	}
	if r.lost {
		// The object is the other one's, and so would be a verdict on it.
		verdict.Ref = dynamic.Ref{Kind: dynamic.KindSource, Name: e.source.String()}
		verdict.Reason = ref.String() + " " + verdict.Reason
	}
	if !r.contested && ref.Kind == dynamic.KindService {
		// The declarations differ in options, or belong to people who trust each other.
		verdict.Status = dynamic.Degraded
	}
	return verdict
}

// verdicts lists the verdicts of all sources, in their order.
func (a *assembly) verdicts() []dynamic.Verdict {
	var all []dynamic.Verdict
	for _, one := range slices.SortedFunc(maps.Keys(a.speaking), func(x, y *entry) int {
		return x.source.Compare(y.source)
	}) {
		all = append(all, one.verdicts...)
	}
	return all
}
