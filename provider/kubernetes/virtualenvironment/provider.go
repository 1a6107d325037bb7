// Package virtualenvironment reads the VirtualEnvironments of a cluster (env.alibaba.com/v1alpha2, the API of KT-env):
// how the Services of a namespace are divided into environments by a label of their pods.
//
// Input are the objects; output is one Policy for each namespace that has any, and verdicts on the objects. The oldest
// valid object of a namespace applies, and the others are reported; no specification is ever changed. Package endpoint
// divides Services by the policies, and package report writes the verdicts to the objects.
package virtualenvironment

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Provider reads the VirtualEnvironments of one cluster. Its methods may be called from any goroutine.
type Provider struct {
	watched *client.Watched[*VirtualEnvironment]

	mu       sync.Mutex
	objects  map[string]map[string]*declared // by namespace and name
	policies map[string]*applied
	// origins are those of all objects.
	origins  immutable.Map[dynamic.Ref, dynamic.Origin]
	handlers []func(namespace string)
}

// declared is an object with what names it in verdicts, which stays the same as long as the object does.
type declared struct {
	*VirtualEnvironment
	resource *dynamic.Resource
}

// applied is the policy of a namespace with its object, and the verdicts on all of the namespace's objects.
type applied struct {
	policy   *Policy
	object   *declared
	verdicts []dynamic.Verdict
	// since is when the object became invalid that applies with its last valid policy; zero if it is valid.
	since time.Time
}

// New returns the provider of a scope of the cluster, and watches with the cluster. The cluster must have the types of
// AddToScheme.
func New(cluster *client.Cluster, scope client.Scope) *Provider {
	scope.LabelSelector = "" // It selects routes.
	p := &Provider{
		objects: map[string]map[string]*declared{}, policies: map[string]*applied{},
	}
	p.watched = client.Watch(cluster, client.Resource[*VirtualEnvironment]{
		GroupVersion: GroupVersion(), Name: Resource, Kind: Kind, Namespaced: true,
		NewList: func() runtime.Object { return &List{} },
		Strip: func(object *VirtualEnvironment) {
			object.SetAnnotations(nil)
			object.SetLabels(nil)
			object.SetOwnerReferences(nil)
			object.SetFinalizers(nil)
		},
	}, scope)
	p.watched.Notify(p.change)
	return p
}

// Policy returns the policy of a namespace; nil if it has none.
func (p *Provider) Policy(namespace string) *Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.policies[namespace]; one != nil {
		return one.policy
	}
	return nil
}

// Namespaces returns the namespaces with an object, in order.
func (p *Provider) Namespaces() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.policies))
}

// Applied returns the names of the objects that apply, as namespace/name, in order.
func (p *Provider) Applied() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, namespace := range slices.Sorted(maps.Keys(p.policies)) {
		if one := p.policies[namespace]; one.policy != nil {
			names = append(names, namespace+"/"+one.object.Name)
		}
	}
	return names
}

// Notify has the function called with each namespace whose policy, objects or verdicts change, and with those that have
// some now. It must return at once.
func (p *Provider) Notify(handle func(namespace string)) {
	p.mu.Lock()
	p.handlers = append(p.handlers, handle)
	namespaces := slices.Collect(maps.Keys(p.policies))
	p.mu.Unlock()
	for _, namespace := range namespaces {
		handle(namespace)
	}
}

// Status returns the status of the watch. An API that the cluster does not serve is no reason to wait.
func (p *Provider) Status() client.Status { return p.watched.Status() }

// change takes a change of an object.
func (p *Provider) change(before, after *VirtualEnvironment) {
	object := cmp.Or(after, before)
	namespace := object.Namespace
	p.mu.Lock()
	origins, last := p.origins, p.policies[namespace]
	p.put(object, after != nil)
	now := p.apply(namespace)
	moved, handlers := !origins.Same(p.origins), p.handlers
	p.mu.Unlock()
	if moved || (last == nil) != (now == nil) || last != nil && !last.equal(now) {
		for _, handle := range handlers {
			handle(namespace)
		}
	}
}

// put notes an object, or that it is gone. A version that differs in its status alone has the same resource. The caller
// holds mu.
func (p *Provider) put(object *VirtualEnvironment, exists bool) {
	namespace, edit := object.Namespace, new(immutable.Edit)
	ref := sourceOf(object).Ref()
	if !exists {
		p.origins.Delete(edit, ref)
		if delete(p.objects[namespace], object.Name); len(p.objects[namespace]) == 0 {
			delete(p.objects, namespace)
		}
		return
	}
	now := &declared{object, resourceOf(object)}
	if before := p.objects[namespace][object.Name]; before != nil && *before.resource == *now.resource {
		now.resource = before.resource
	}
	if p.objects[namespace] == nil {
		p.objects[namespace] = map[string]*declared{}
	}
	p.objects[namespace][object.Name] = now
	if origin := now.origin(); p.origins.Get(ref) != origin {
		p.origins.Set(edit, ref, origin)
	}
}

// apply applies the objects of a namespace. An invalid object keeps its place with the last valid policy that it had.
// The caller holds mu.
func (p *Provider) apply(namespace string) *applied {
	objects := slices.SortedFunc(maps.Values(p.objects[namespace]), older)
	last := p.policies[namespace]
	if len(objects) == 0 {
		delete(p.policies, namespace)
		return nil
	}
	now := &applied{}
	for _, object := range objects {
		policy, ignored, err := policyOf(&object.Spec)
		switch {
		case now.policy != nil:
			now.judge(object, dynamic.Quarantined, dynamic.CodeConflictingName,
				"is not applied, since "+Kind+" "+namespace+"/"+now.object.Name+" of the same namespace is older")
			continue
		case err != nil && last != nil && last.object != nil && last.object.Name == object.Name:
			now.policy, now.object, now.since = last.policy, object, last.since
			if now.since.IsZero() {
				now.since = time.Now()
			}
			now.judge(object, dynamic.Retained, dynamic.CodeInvalidOption, err.Error())
			now.verdicts[len(now.verdicts)-1].Since = now.since
			continue
		case err != nil:
			now.judge(object, dynamic.Quarantined, dynamic.CodeInvalidOption, err.Error())
			continue
		}
		for _, reason := range ignored {
			now.judge(object, dynamic.Degraded, dynamic.CodeInvalidOption, reason)
		}
		now.policy, now.object = policy, object
		if last != nil && last.policy != nil && last.policy.equal(policy) {
			now.policy = last.policy
		}
	}
	p.policies[namespace] = now
	return now
}

// equal reports whether the objects of a namespace come to the same.
func (a *applied) equal(other *applied) bool {
	return a.policy == other.policy && slices.Equal(a.verdicts, other.verdicts)
}

// equal reports whether two policies say the same.
func (p *Policy) equal(other *Policy) bool {
	return p.Label == other.Label && dynamic.Equal(p.Environment, other.Environment)
}

// older orders objects by their creation, and those of the same second by name.
func older(a, b *declared) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// judge adds a verdict on an object.
func (a *applied) judge(object *declared, status dynamic.Status, code dynamic.Code, reason string) {
	a.verdicts = append(a.verdicts, verdictOn(object, status, code, reason))
}

func verdictOn(
	object *declared, status dynamic.Status, code dynamic.Code, reason string,
) dynamic.Verdict {
	return dynamic.Verdict{
		Ref: sourceOf(object.VirtualEnvironment).Ref(), Status: status, Code: code, Reason: reason, Origin: object.origin(),
	}
}

func (d *declared) origin() dynamic.Origin {
	return dynamic.Origin{Object: Kind + " " + d.Namespace + "/" + d.Name, Resource: d.resource}
}

func sourceOf(object *VirtualEnvironment) translation.Source {
	return translation.Source{Kind: Kind + "." + Group, Namespace: object.Namespace, Name: object.Name}
}

func resourceOf(object *VirtualEnvironment) *dynamic.Resource {
	return &dynamic.Resource{
		APIVersion: GroupVersion().String(), Kind: Kind, Namespace: object.Namespace, Name: object.Name,
		UID: string(object.UID), Generation: object.Generation,
	}
}

// Object returns an object as the cluster has it now, with its status; false when it is not there. The object is shared
// and must not be changed.
func (p *Provider) Object(namespace, name string) (metav1.Object, bool) {
	return p.watched.Get(namespace, name)
}

// Exists reports whether the cluster has an object with its uid.
func (p *Provider) Exists(resource *dynamic.Resource) bool {
	if resource.Kind != Kind || resource.APIVersion != GroupVersion().String() {
		return false
	}
	object, ok := p.watched.Get(resource.Namespace, resource.Name)
	return ok && string(object.UID) == resource.UID
}

// Configuration returns the origins of all objects, and the verdicts on them in their order; it declares nothing.
// Unread says for namespaces why the labels of their pods are not known, which is a verdict on the object that applies.
func (p *Provider) Configuration(unread map[string]string) *dynamic.Configuration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []dynamic.Verdict
	for _, namespace := range slices.Sorted(maps.Keys(p.policies)) {
		one := p.policies[namespace]
		all = append(all, one.verdicts...)
		if reason := unread[namespace]; reason != "" && one.object != nil {
			all = append(all, verdictOn(one.object, dynamic.Degraded, dynamic.CodeMissingReference,
				"the labels of pods are not known, so that no further Service is divided: "+reason))
		}
	}
	return &dynamic.Configuration{Origins: p.origins, Verdicts: all}
}
