package translation

import (
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// conflict is that of a source with another one that declares the same object otherwise.
type conflict struct {
	// with is the other source; nil when there is no conflict.
	with *entry
	// lost is set when the other one owns the object, unused when neither declaration serves.
	lost, unused bool
}

// conflict returns the conflict of a source about an object, whose declarations have been settled.
func (m *Memory) conflict(by *entry, ref dynamic.Ref) conflict {
	all := m.declared[ref]
	if len(all) < 2 {
		return conflict{}
	}
	if all[0].by != by {
		if at, declared := place(all, by); declared && all[at].object != all[0].object {
			return conflict{with: all[0].by, lost: true, unused: unusable(ref, all[0], all[at])}
		}
		return conflict{}
	}
	for _, other := range all[1:] {
		if other.object != all[0].object && unusable(ref, all[0], other) {
			return conflict{with: other.by, unused: true}
		}
	}
	return conflict{}
}

// unusable reports whether an object with two different declarations must not serve at all:
//   - a global object, since the other declaration could be what protects a third namespace;
//   - not a router, which nothing refers to;
//   - within one namespace a name of two Services (port c of a-b, and port b-c of a);
//   - across namespaces everything else, since a reference would be protected, or answered, by what another namespace
//     has declared; except for services with one endpoint set, which differ in options alone.
func unusable(ref dynamic.Ref, first, other declaration) bool {
	switch {
	case ref.IsGlobal():
		return true
	case isRouter(ref.Kind):
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
	switch service := object.(type) {
	case *dynamic.Service:
		switch {
		case service.LoadBalancer != nil:
			return service.LoadBalancer.EndpointSet
		case service.Environment != nil:
			return service.Environment.EndpointSet
		}
	case *dynamic.TCPService:
		if service.LoadBalancer != nil {
			return service.LoadBalancer.EndpointSet
		}
	case *dynamic.UDPService:
		if service.LoadBalancer != nil {
			return service.LoadBalancer.EndpointSet
		}
	}
	return ""
}

func isRouter(kind dynamic.Kind) bool {
	return kind == dynamic.KindRouter || kind == dynamic.KindTCPRouter || kind == dynamic.KindUDPRouter
}

func isService(kind dynamic.Kind) bool {
	return kind == dynamic.KindService || kind == dynamic.KindTCPService || kind == dynamic.KindUDPService
}

// judge makes the verdicts on a source again, and reports whether they differ. Findings about an object that another
// source declares otherwise are left out, since they would hit that one; those that would quarantine an object that
// another source declares in the same words are about the source itself, for the same reason.
func (m *Memory) judge(by *entry) (changed bool) {
	var verdicts []dynamic.Verdict
	for _, verdict := range by.found {
		if m.conflict(by, verdict.Ref).lost {
			continue
		}
		if all := m.declared[verdict.Ref]; verdict.Status == dynamic.Quarantined && len(all) > 0 && all[0].by != by {
			verdict.Ref = by.source.Ref()
		}
		verdicts = append(verdicts, verdict)
	}
	for _, ref := range by.refs {
		if conflict := m.conflict(by, ref); conflict.with != nil {
			verdicts = append(verdicts, conflict.verdict(by, ref))
		}
	}
	if slices.Equal(verdicts, by.verdicts) {
		return false
	}
	if by.verdicts = verdicts; len(verdicts) == 0 {
		delete(m.refused, by)
	} else {
		m.refused[by] = struct{}{}
	}
	return true
}

// verdict returns the verdict on a source that declares an object otherwise than another one.
func (c conflict) verdict(by *entry, ref dynamic.Ref) dynamic.Verdict {
	verdict := dynamic.Verdict{
		Ref: ref, Origin: by.origin, Status: dynamic.Quarantined, Code: dynamic.CodeConflictingName,
		Reason: "is declared otherwise by " + c.with.source.String(),
	}
	if c.unused {
		verdict.Reason += ", so neither is used"
	} else {
		verdict.Reason += ", which is used"
	}
	if c.lost {
		// The object is the other one's, and so would be a verdict on it.
		verdict.Ref = by.source.Ref()
		verdict.Reason = ref.String() + " " + verdict.Reason
	}
	if !c.unused && isService(ref.Kind) {
		// The declarations differ in options, or belong to the same namespace.
		verdict.Status = dynamic.Degraded
	}
	return verdict
}

// verdicts lists the verdicts of all sources, in their order.
func (m *Memory) verdicts() []dynamic.Verdict {
	var all []dynamic.Verdict
	for _, one := range slices.SortedFunc(maps.Keys(m.refused), func(x, y *entry) int {
		return x.source.Compare(y.source)
	}) {
		all = append(all, one.verdicts...)
	}
	return all
}
