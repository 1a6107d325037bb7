package pipeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// sortedVerdicts sorts verdicts by kind and name, the worst first, and drops repetitions and accepted ones.
func sortedVerdicts(verdicts []dynamic.Verdict) []dynamic.Verdict {
	verdicts = slices.DeleteFunc(verdicts, func(v dynamic.Verdict) bool { return v.Status == dynamic.Accepted })
	slices.SortFunc(verdicts, func(a, b dynamic.Verdict) int {
		return cmp.Or(
			compareRefs(a.Ref, b.Ref),
			cmp.Compare(b.Status, a.Status),
			compareMissing(a, b),
			cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Origin.File, b.Origin.File),
			cmp.Compare(a.Origin.Line, b.Origin.Line),
			cmp.Compare(a.Origin.Object, b.Origin.Object),
			compareResources(a.Origin.Resource, b.Origin.Resource),
		)
	})
	return slices.CompactFunc(verdicts, func(a, b dynamic.Verdict) bool {
		same := compareResources(a.Origin.Resource, b.Origin.Resource) == 0
		a.Origin.Resource, b.Origin.Resource = nil, nil
		return same && a == b
	})
}

// compareMissing puts what is certainly wrong before what may only be late.
func compareMissing(a, b dynamic.Verdict) int {
	switch {
	case a.Missing == b.Missing:
		return 0
	case b.Missing:
		return -1
	}
	return 1
}

func compareResources(a, b *dynamic.Resource) int {
	if a == b {
		return 0
	}
	none := &dynamic.Resource{}
	a, b = cmp.Or(a, none), cmp.Or(b, none)
	return cmp.Or(
		cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID),
		cmp.Compare(a.Generation, b.Generation),
	)
}

// sameNews reports whether a sink that has received one verdict need not get the other: a further version of the same
// object with the same fault is no news, another object of the same name is.
func sameNews(a, b dynamic.Verdict) bool {
	none := &dynamic.Resource{}
	same := cmp.Or(a.Origin.Resource, none).UID == cmp.Or(b.Origin.Resource, none).UID
	a.Origin.Resource, b.Origin.Resource = nil, nil
	return same && a == b
}

// combine returns everything that is known to be wrong: the verdicts that came with the configuration and those of its
// compilation, which get the origins of their objects.
func combine(configuration *dynamic.Configuration, from origins, compiled []dynamic.Verdict) []dynamic.Verdict {
	all := slices.Clone(configuration.Verdicts)
	compiled = explainRetained(all, compiled)
	all = append(all, compiled...)
	// A provider's verdict has the line of the error; one of the compilation has the object only.
	for i := len(configuration.Verdicts); i < len(all); i++ {
		if origin, ok := from.of(all[i].Ref); ok {
			all[i].Origin = origin
		} else if all[i].Code == dynamic.CodeMissingCertificate { // The default store need not be declared.
			all[i].Origin, _ = from.of(all[i].Cause)
			all[i].Origin.Resource = nil // The verdict is not about the router.
		}
	}
	return sortedVerdicts(all)
}

// pass passes the values of one channel on to another that has room for one, until ctx ends.
func pass(ctx context.Context, from <-chan struct{}, to chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-from:
			select {
			case to <- struct{}{}:
			default:
			}
		}
	}
}

// combine returns everything that is known to be wrong, with the verdicts of the consumers Options.Verdicts.
func (p *Pipeline) combine(
	configuration *dynamic.Configuration, from origins, compiled []dynamic.Verdict,
) []dynamic.Verdict {
	for _, consumer := range p.options.Verdicts {
		compiled = slices.Concat(compiled, consumer.Verdicts())
	}
	return combine(configuration, from, compiled)
}

// judge takes the verdicts of the consumers Options.Verdicts, which have changed.
func (p *Pipeline) judge() {
	latest := p.latest()
	if latest.configuration == nil {
		return
	}
	latest.verdicts = p.combine(latest.configuration, latest.origins, latest.compiled.Verdicts)
	if p.waiting == nil {
		p.amend(p.publishVerdicts())
	}
}

// Difference returns what has become known between two lists of verdicts, which are sorted as in a State: every verdict
// of each object whose verdicts are new or have changed, and an accepting one for each object that has none any more.
// Both lists are new, and in order of kind and name.
func Difference(before, after []dynamic.Verdict) (worse, recovered []dynamic.Verdict) {
	for len(before) > 0 || len(after) > 0 {
		var old, now []dynamic.Verdict
		switch order := compareHeads(before, after); {
		case order < 0:
			old, before = cutObject(before)
		case order > 0:
			now, after = cutObject(after)
		default:
			old, before = cutObject(before)
			now, after = cutObject(after)
		}
		switch {
		case len(now) == 0:
			recovered = append(recovered, dynamic.Verdict{Ref: old[0].Ref, Origin: old[0].Origin, Status: dynamic.Accepted})
		case !slices.EqualFunc(old, now, sameNews):
			worse = append(worse, now...)
		}
	}
	return worse, recovered
}

// compareHeads says which of two sorted lists comes next; an empty one comes last.
func compareHeads(a, b []dynamic.Verdict) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return compareRefs(a[0].Ref, b[0].Ref)
}

// cutObject cuts the verdicts of the first object off a sorted list.
func cutObject(verdicts []dynamic.Verdict) (first, rest []dynamic.Verdict) {
	n := 1
	for n < len(verdicts) && verdicts[n].Ref == verdicts[0].Ref {
		n++
	}
	return verdicts[:n:n], verdicts[n:]
}

// without returns the verdicts of a sorted list whose objects are not among the recovered ones.
func without(verdicts, recovered []dynamic.Verdict) []dynamic.Verdict {
	gone := make(map[dynamic.Ref]bool, len(recovered))
	for _, verdict := range recovered {
		gone[verdict.Ref] = true
	}
	return slices.DeleteFunc(slices.Clone(verdicts), func(v dynamic.Verdict) bool { return gone[v.Ref] })
}

// Count counts the objects that have a verdict of a status.
func Count(verdicts []dynamic.Verdict, status dynamic.Status) int {
	objects := map[dynamic.Ref]struct{}{}
	for _, verdict := range verdicts {
		if verdict.Status == status {
			objects[verdict.Ref] = struct{}{}
		}
	}
	return len(objects)
}
