package endpoint

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// noteRule notes whether a Service has the annotation client.AnnotationRule; nil is one that is gone. The caller holds
// mu.
func (c *sliceCache) noteRule(of reference, service *corev1.Service) {
	if service == nil || service.Annotations[client.AnnotationRule] == "" {
		delete(c.ruled, of)
		return
	}
	if known := c.ruled[of]; known == nil || known.UID != string(service.UID) {
		c.ruled[of] = &dynamic.Resource{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: kindService, Namespace: of.namespace, Name: of.name,
			UID: string(service.UID),
		}
	}
}

// ruleVerdicts returns a verdict on each Service with the annotation client.AnnotationRule in a namespace with a
// policy, in order.
func (c *sliceCache) ruleVerdicts(policies Policies) []dynamic.Verdict {
	c.mu.Lock()
	var found []*dynamic.Resource
	for _, resource := range c.ruled {
		found = append(found, resource)
	}
	c.mu.Unlock()
	found = slices.DeleteFunc(found, func(one *dynamic.Resource) bool { return policies.Policy(one.Namespace) == nil })
	slices.SortFunc(found, func(a, b *dynamic.Resource) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var all []dynamic.Verdict
	for _, resource := range found {
		source := translation.Source{Kind: kindService, Namespace: resource.Namespace, Name: resource.Name}
		all = append(all, dynamic.Verdict{
			Ref: source.Ref(), Origin: dynamic.Origin{Object: source.String(), Resource: resource},
			Status: dynamic.Degraded, Code: dynamic.CodeIneffectiveOption,
			Reason: "the annotation " + client.AnnotationRule + " has no effect: let middlewares of the routers of this Service " +
				"do what the rule did, and remove the annotation",
		})
	}
	return all
}

// Exists reports whether the cluster has a Service with its uid.
func (p *Provider) Exists(resource *dynamic.Resource) bool {
	if resource.Kind != kindService || resource.APIVersion != corev1.SchemeGroupVersion.String() {
		return false
	}
	service, ok := p.services.Get(resource.Namespace, resource.Name)
	return ok && string(service.UID) == resource.UID
}
