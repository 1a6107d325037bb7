package report

import (
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// judgement is the content of the status of one object.
type judgement struct {
	resource dynamic.Resource
	summary  summary
}

// judgements holds the judgement of every object with status conditions in a settled state. An update costs what has
// changed since the state before, and the number of verdicts where any has.
type judgements struct {
	// all has them by uid.
	all map[string]*judgement
	// declared are the objects that declare something, verdicts the verdicts on objects, both by uid.
	declared map[string]declaration
	verdicts map[string][]dynamic.Verdict
}

// declaration is an object that declares something.
type declaration struct {
	// resource is the version that declares the objects.
	resource *dynamic.Resource
	// count is the number of declared objects.
	count int
}

func newJudgements() judgements {
	return judgements{all: map[string]*judgement{}, declared: map[string]declaration{}}
}

// update takes a settled state and the one before. It yields the uids of the objects whose judgement differs.
func (j *judgements) update(before, after provider.State) iter.Seq[string] {
	seen := map[string]struct{}{}
	for name, configuration := range after.Included {
		old := before.Included[name]
		if old == nil {
			old = &dynamic.Configuration{}
		}
		j.declare(old, configuration, seen)
	}
	for name, configuration := range before.Included {
		if after.Included[name] == nil {
			j.declare(configuration, &dynamic.Configuration{}, seen)
		}
	}
	if !sameVerdicts(before, after) {
		j.group(after.Verdicts, seen)
	}
	maps.DeleteFunc(seen, func(uid string, _ struct{}) bool { return !j.judge(uid) })
	return maps.Keys(seen)
}

// declare takes what one provider declares, and adds the uids of the objects that differ.
func (j *judgements) declare(before, after *dynamic.Configuration, seen map[string]struct{}) {
	if before == after {
		return
	}
	for ref := range after.Origins.Changed(before.Origins) {
		if resource := before.Origins.Get(ref).Resource; hasConditions(resource) {
			one := j.declared[resource.UID]
			if one.count--; one.count > 0 {
				j.declared[resource.UID] = one
			} else {
				delete(j.declared, resource.UID)
			}
			seen[resource.UID] = struct{}{}
		}
		if resource := after.Origins.Get(ref).Resource; hasConditions(resource) {
			one := j.declared[resource.UID]
			one.count++
			one.resource = resource
			j.declared[resource.UID] = one
			seen[resource.UID] = struct{}{}
		}
	}
}

// group takes all verdicts, and adds the uids of the objects whose verdicts differ.
func (j *judgements) group(all []dynamic.Verdict, seen map[string]struct{}) {
	before := j.verdicts
	j.verdicts = map[string][]dynamic.Verdict{}
	for _, verdict := range all {
		if resource := verdict.Origin.Resource; hasConditions(resource) {
			j.verdicts[resource.UID] = append(j.verdicts[resource.UID], verdict)
		}
	}
	for uid, some := range j.verdicts {
		if !slices.Equal(some, before[uid]) {
			seen[uid] = struct{}{}
		}
	}
	for uid := range before {
		if j.verdicts[uid] == nil {
			seen[uid] = struct{}{}
		}
	}
}

// judge judges one object anew. It reports whether the object has a judgement that differs.
func (j *judgements) judge(uid string) bool {
	resource := j.declared[uid].resource
	for _, verdict := range j.verdicts[uid] {
		resource = newest(resource, verdict.Origin.Resource)
	}
	if resource == nil {
		delete(j.all, uid)
		return false
	}
	one := judgement{resource: *resource, summary: summarize(j.verdicts[uid])}
	if before := j.all[uid]; before != nil && *before == one {
		return false
	}
	j.all[uid] = &one
	return true
}

// hasConditions reports whether an object has a status with conditions.
func hasConditions(resource *dynamic.Resource) bool {
	if resource == nil || resource.UID == "" {
		return false
	}
	_, known := statusKindOf(resource)
	return known
}

// newest returns the version with the higher generation, b of two with the same.
func newest(a, b *dynamic.Resource) *dynamic.Resource {
	if a == nil || a.Generation <= b.Generation {
		return b
	}
	return a
}

// apply returns the status with the conditions of a kind, Accepted and, where it has references, ResolvedRefs, and
// whether it has changed. Conditions of other types stay, and a condition whose status has not changed keeps its time
// of transition.
func (j *judgement) apply(
	before *v1alpha1.Status, kind statusKind, now metav1.Time,
) (after v1alpha1.Status, changed bool) {
	accepted := metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: string(j.summary.code),
		Message: j.summary.message,
	}
	if j.summary.status >= dynamic.Retained { // What it declares now is not in use.
		accepted.Status = metav1.ConditionFalse
	}
	resolved := metav1.Condition{
		Type: v1alpha1.ConditionResolvedRefs, Status: metav1.ConditionTrue, Reason: reasonResolved,
		Message: j.summary.missing,
	}
	if j.summary.missing != "" {
		resolved.Status, resolved.Reason = metav1.ConditionFalse, string(j.summary.missingCode)
	}
	after = v1alpha1.Status{
		ObservedGeneration: j.resource.Generation,
		Conditions:         slices.Clone(before.Conditions),
	}
	changed = before.ObservedGeneration != after.ObservedGeneration
	conditions := []metav1.Condition{accepted, resolved}
	if !kind.references {
		conditions = conditions[:1]
	}
	for _, condition := range conditions {
		condition.ObservedGeneration, condition.LastTransitionTime = j.resource.Generation, now
		changed = meta.SetStatusCondition(&after.Conditions, condition) || changed
	}
	return after, changed
}
