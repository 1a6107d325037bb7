package report

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// judgement is what is to be said in the status of one object.
type judgement struct {
	resource dynamic.Resource
	summary  summary
}

// judge returns what is to be said about every object of sluice.dev in a settled view, by uid.
func judge(view View) map[string]judgement {
	own := v1alpha1.GroupVersion(v1alpha1.GroupSluice).String()
	resources := map[string]*dynamic.Resource{}
	see := func(resource *dynamic.Resource) bool {
		if resource == nil || resource.APIVersion != own || resource.UID == "" {
			return false
		}
		if known := resources[resource.UID]; known == nil || known.Generation < resource.Generation {
			resources[resource.UID] = resource
		}
		return true
	}
	for _, configuration := range view.Configurations {
		for _, origin := range configuration.Origins {
			see(origin.Resource)
		}
	}
	verdicts := map[string][]dynamic.Verdict{}
	for _, verdict := range view.Verdicts {
		if resource := verdict.Origin.Resource; see(resource) {
			verdicts[resource.UID] = append(verdicts[resource.UID], verdict)
		}
	}
	judged := make(map[string]judgement, len(resources))
	for uid, resource := range resources {
		judged[uid] = judgement{resource: *resource, summary: summarize(verdicts[uid])}
	}
	return judged
}

// conditions returns the conditions that say so.
func (j judgement) conditions(now metav1.Time) []metav1.Condition {
	accepted := metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: j.summary.reason(), Message: j.summary.message,
	}
	if j.summary.status == dynamic.Quarantined {
		accepted.Status = metav1.ConditionFalse
	}
	resolved := metav1.Condition{
		Type: v1alpha1.ConditionResolvedRefs, Status: metav1.ConditionTrue, Reason: reasonResolved, Message: j.summary.missing,
	}
	if j.summary.missing != "" {
		resolved.Status, resolved.Reason = metav1.ConditionFalse, reasonMissing
	}
	both := []metav1.Condition{accepted, resolved}
	for i := range both {
		both[i].ObservedGeneration, both[i].LastTransitionTime = j.resource.Generation, now
	}
	return both
}

// apply returns the status that follows a status, and whether it is another one. Conditions of other types stay, and a
// condition that did not flip keeps the time when it last did.
func (j judgement) apply(before *v1alpha1.Status, now metav1.Time) (after v1alpha1.Status, changed bool) {
	after = v1alpha1.Status{
		ObservedGeneration: j.resource.Generation,
		Conditions:         slices.Clone(before.Conditions),
	}
	changed = before.ObservedGeneration != after.ObservedGeneration
	for _, wanted := range j.conditions(now) {
		at := slices.IndexFunc(after.Conditions, func(c metav1.Condition) bool { return c.Type == wanted.Type })
		if at < 0 {
			after.Conditions, changed = append(after.Conditions, wanted), true
			continue
		}
		known := after.Conditions[at]
		if known.Status == wanted.Status {
			wanted.LastTransitionTime = known.LastTransitionTime
		}
		if known != wanted {
			after.Conditions[at], changed = wanted, true
		}
	}
	return after, changed
}

// statusOf returns the status of an object of sluice.dev; nil for anything else. Kinds that are not supported yet (those
// for TCP and UDP) have no subresource for one; Events tell what becomes of them.
func statusOf(object metav1.Object) *v1alpha1.Status {
	switch typed := object.(type) {
	case *v1alpha1.IngressRoute:
		return &typed.Status
	case *v1alpha1.Middleware:
		return &typed.Status
	case *v1alpha1.TraefikService:
		return &typed.Status
	case *v1alpha1.ServersTransport:
		return &typed.Status
	case *v1alpha1.TLSOption:
		return &typed.Status
	case *v1alpha1.TLSStore:
		return &typed.Status
	}
	return nil
}

// pluralOf returns the resource of a kind of sluice.dev that has a status; empty for anything else.
func pluralOf(kind string) string {
	switch kind {
	case v1alpha1.KindIngressRoute:
		return v1alpha1.ResourceIngressRoutes
	case v1alpha1.KindMiddleware:
		return v1alpha1.ResourceMiddlewares
	case v1alpha1.KindTraefikService:
		return v1alpha1.ResourceTraefikServices
	case v1alpha1.KindServersTransport:
		return v1alpha1.ResourceServersTransports
	case v1alpha1.KindTLSOption:
		return v1alpha1.ResourceTLSOptions
	case v1alpha1.KindTLSStore:
		return v1alpha1.ResourceTLSStores
	}
	return ""
}

func compareResources(a, b *dynamic.Resource) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.UID, b.UID),
	)
}
