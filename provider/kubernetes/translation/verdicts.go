package translation

import (
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// won notes whose declaration of an object counts.
func (a *assembly) won(ref dynamic.Ref, by *entry) {
	if _, was := by.lost[ref]; was {
		delete(by.lost, ref)
		a.judged[by] = struct{}{}
	}
	if current, known := a.origins[ref]; !known || current != by.origin {
		a.writableOrigins()[ref] = by.origin
		if len(by.found) > 0 {
			a.judged[by] = struct{}{}
		}
	}
}

// gone notes that nobody declares an object any more.
func (a *assembly) gone(ref dynamic.Ref) { delete(a.writableOrigins(), ref) }

// rival notes that a source declares an object that belongs to another one.
func (a *assembly) rival(ref dynamic.Ref, winner, loser *entry, same bool) {
	before, was := loser.lost[ref]
	switch {
	case same && !was && len(loser.found) == 0, !same && before == winner:
		return
	case same:
		delete(loser.lost, ref)
	default:
		if loser.lost == nil {
			loser.lost = map[dynamic.Ref]*entry{}
		}
		loser.lost[ref] = winner
	}
	delete(loser.contested, ref)
	a.judged[loser] = struct{}{}
}

// contest notes which other source declares an object otherwise that belongs to nobody; nil when none does.
func (a *assembly) contest(ref dynamic.Ref, winner, rival *entry) {
	if !belongsToNobody(ref) || winner.contested[ref] == rival {
		return
	}
	if winner.contested == nil {
		winner.contested = map[dynamic.Ref]*entry{}
	}
	if winner.contested[ref] = rival; rival == nil {
		delete(winner.contested, ref)
	}
	a.judged[winner] = struct{}{}
}

// belongsToNobody tells objects that hold for everybody, whoever declares them. When two sources disagree about one,
// neither may decide: the other one could be what protects a third party.
func belongsToNobody(ref dynamic.Ref) bool {
	return ref.Name == dynamic.DefaultTLSName && (ref.Kind == dynamic.KindTLSOptions || ref.Kind == dynamic.KindTLSStore)
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
		if e.lost[verdict.Ref] != nil {
			continue
		}
		if verdict.Status == dynamic.Quarantined && !e.owns(verdict.Ref, origins) {
			verdict.Ref = dynamic.Ref{Kind: dynamic.KindSource, Name: e.source.String()}
		}
		verdicts = append(verdicts, verdict)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(e.lost), compareRefs) {
		winner := e.lost[ref]
		reason := ref.String() + " is declared otherwise by " + winner.source.String() + ", which is used"
		if belongsToNobody(ref) {
			reason = ref.String() + " is declared otherwise by " + winner.source.String() + ", so neither is used"
		}
		verdict := dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: e.source.String()},
			Origin: e.origin, Status: dynamic.Quarantined, Reason: reason,
		}
		if ref.Kind == dynamic.KindService && winner.source.Namespace == e.source.Namespace {
			// Its routers are answered by the same backends, with the options of the other declaration.
			verdict.Status = dynamic.Degraded
		}
		verdicts = append(verdicts, verdict)
		if verdict.Status == dynamic.Quarantined && ref.Kind != dynamic.KindRouter {
			verdicts = append(verdicts, e.shut(reason, origins)...)
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(e.contested), compareRefs) {
		verdicts = append(verdicts, dynamic.Verdict{
			Ref: ref, Origin: e.origin, Status: dynamic.Quarantined,
			Reason: "is declared otherwise by " + e.contested[ref].source.String() + ", so neither is used",
		})
	}
	return verdicts
}

// owns reports whether an object is the source's own: not one that another source declares first.
func (e *entry) owns(ref dynamic.Ref, origins map[dynamic.Ref]dynamic.Origin) bool {
	origin, declared := origins[ref]
	return !declared || origin == e.origin
}

// shut keeps the routers of a source from being answered by what somebody else has declared.
func (e *entry) shut(reason string, origins map[dynamic.Ref]dynamic.Origin) []dynamic.Verdict {
	var verdicts []dynamic.Verdict
	for _, ref := range e.refs {
		if ref.Kind == dynamic.KindRouter && e.lost[ref] == nil && e.owns(ref, origins) {
			verdicts = append(verdicts, dynamic.Verdict{Ref: ref, Origin: e.origin, Status: dynamic.Quarantined, Reason: reason})
		}
	}
	return verdicts
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
