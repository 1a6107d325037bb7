package endpoint

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// followPolicies watches the pods that the policies need, and applies each policy whose pods have been read: until then
// the one before stays in use. It returns for namespaces why their pods cannot be read. It belongs to Provide.
func (p *Provider) followPolicies() (unread map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unread = map[string]string{}
	wanted := map[podScope]bool{}
	for _, namespace := range p.policies.Namespaces() {
		policy := p.policies.Policy(namespace)
		if policy == nil {
			continue
		}
		in := podScope{namespace, policy.Label}
		wanted[in] = true
		switch status := p.watchPods(in).Status(); status.State {
		case dynamic.StatePending:
			if applied := p.applied[namespace]; applied != (podScope{}) {
				wanted[applied] = true
			}
			continue
		case dynamic.StateForbidden:
			unread[namespace] = status.Reason
		}
		p.applied[namespace] = in
		p.cache.policy(namespace, policy)
	}
	for namespace := range p.applied {
		if p.policies.Policy(namespace) == nil {
			delete(p.applied, namespace)
			p.cache.policy(namespace, nil)
		}
	}
	for in, watched := range p.pods {
		if !wanted[in] {
			watched.Close()
			delete(p.pods, in)
			p.cache.forget(in)
		}
	}
	return unread
}

// watchPods returns the watch of the pods with a label of a namespace. The caller holds mu.
func (p *Provider) watchPods(in podScope) *client.Watched[*metav1.PartialObjectMetadata] {
	if known := p.pods[in]; known != nil {
		return known
	}
	watched := client.Watch(p.cluster, client.LabelledPods(in.label), client.Scope{Namespaces: []string{in.namespace}})
	p.pods[in] = watched
	watched.Notify(func(before, after *metav1.PartialObjectMetadata) { p.cache.pod(in, before, after) })
	return watched
}

// awaitsPods reports whether the pods that a policy needs have not been read.
func (p *Provider) awaitsPods() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, watched := range p.pods {
		if watched.Status().State == dynamic.StatePending {
			return true
		}
	}
	return false
}
