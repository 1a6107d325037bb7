package crd

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// watch is a watch of any type.
type watch interface{ Status() client.Status }

// kindWatch is the watch of one kind of one group.
type kindWatch struct {
	watch
	// get returns an object, or nil when it is not there.
	get func(namespace, name string) metav1.Object
	// follow subscribes to changes.
	follow func()
}

// kindNames returns the names of kinds, which are the same in every group.
func kindNames() []string {
	return []string{
		v1alpha1.KindIngressRoute, v1alpha1.KindMiddleware, v1alpha1.KindTraefikService, v1alpha1.KindServersTransport,
		v1alpha1.KindTLSOption, v1alpha1.KindTLSStore, v1alpha1.KindIngressRouteTCP, v1alpha1.KindIngressRouteUDP,
		v1alpha1.KindMiddlewareTCP, v1alpha1.KindServersTransportTCP,
	}
}

// kinds returns the Kinds of all sources that are translated.
func kinds() []string {
	var all []string
	for _, group := range v1alpha1.Groups() {
		for _, kind := range kindNames() {
			if isServed(kind, group) {
				all = append(all, kindOf(kind, group))
			}
		}
	}
	return all
}

// isServed reports whether a group has a kind at all.
func isServed(kind, group string) bool {
	return kind != v1alpha1.KindServersTransportTCP || group != v1alpha1.GroupContainous
}

// watchKinds watches every kind of every group. Changes are received when all watches are there, since a change in one
// group may concern another one.
func (p *Provider) watchKinds(cluster *client.Cluster, scope client.Scope) {
	for _, group := range v1alpha1.Groups() {
		in := groupWatch{p, cluster, group, scope}
		watchKind[*v1alpha1.IngressRoute](in, v1alpha1.KindIngressRoute, v1alpha1.ResourceIngressRoutes,
			&v1alpha1.IngressRouteList{})
		watchKind[*v1alpha1.Middleware](in, v1alpha1.KindMiddleware, v1alpha1.ResourceMiddlewares, &v1alpha1.MiddlewareList{})
		watchKind[*v1alpha1.TraefikService](in, v1alpha1.KindTraefikService, v1alpha1.ResourceTraefikServices,
			&v1alpha1.TraefikServiceList{})
		watchKind[*v1alpha1.ServersTransport](in, v1alpha1.KindServersTransport, v1alpha1.ResourceServersTransports,
			&v1alpha1.ServersTransportList{})
		watchKind[*v1alpha1.TLSOption](in, v1alpha1.KindTLSOption, v1alpha1.ResourceTLSOptions, &v1alpha1.TLSOptionList{})
		watchKind[*v1alpha1.TLSStore](in, v1alpha1.KindTLSStore, v1alpha1.ResourceTLSStores, &v1alpha1.TLSStoreList{})
		watchKind[*v1alpha1.IngressRouteTCP](in, v1alpha1.KindIngressRouteTCP, v1alpha1.ResourceIngressRouteTCPs,
			&v1alpha1.IngressRouteTCPList{})
		watchKind[*v1alpha1.IngressRouteUDP](in, v1alpha1.KindIngressRouteUDP, v1alpha1.ResourceIngressRouteUDPs,
			&v1alpha1.IngressRouteUDPList{})
		watchKind[*v1alpha1.MiddlewareTCP](in, v1alpha1.KindMiddlewareTCP, v1alpha1.ResourceMiddlewareTCPs,
			&v1alpha1.MiddlewareTCPList{})
		if isServed(v1alpha1.KindServersTransportTCP, group) {
			watchKind[*v1alpha1.ServersTransportTCP](in, v1alpha1.KindServersTransportTCP, v1alpha1.ResourceServersTransportTCPs,
				&v1alpha1.ServersTransportTCPList{})
		}
	}
	for _, watched := range p.kinds {
		watched.follow()
	}
}

// groupWatch is a group that a provider watches.
type groupWatch struct {
	provider *Provider
	cluster  *client.Cluster
	group    string
	scope    client.Scope
}

// watchKind watches one kind of a group. List is an empty list of the kind.
func watchKind[T client.Object](in groupWatch, kind, resource string, list runtime.Object) {
	p := in.provider
	watched := client.Watch(in.cluster, client.Resource[T]{
		GroupVersion: v1alpha1.GroupVersion(in.group), Name: resource, Kind: kind, Namespaced: true,
		NewList: list.DeepCopyObject,
		Strip:   func(object T) { strip(object) },
	}, in.scope)
	p.kinds[kindOf(kind, in.group)] = kindWatch{
		watch: watched,
		get: func(namespace, name string) metav1.Object {
			if object, ok := watched.Get(namespace, name); ok {
				return object
			}
			return nil
		},
		follow: func() {
			watched.Notify(func(before, after T) {
				object := translation.Last(before, after)
				p.touch(kind, in.group, object.GetNamespace(), object.GetName())
			})
		},
	}
}

// translate translates a source; it is false when it does not exist, or is of a class that the options do not select.
func (p *Provider) translate(source translation.Source) (translation.Result, bool) {
	kind, group := splitKind(source.Kind)
	object := p.object(group, kind, source.Namespace, source.Name)
	if object == nil {
		p.translator.last.forget(source)
		return translation.Result{}, false
	}
	result, ok := p.translator.result(source, object)
	if !ok {
		p.translator.last.forget(source)
	}
	return result, ok
}

// touch marks an object that changed, and those of the same kind, namespace and name in groups of lower precedence.
func (p *Provider) touch(kind, group, namespace, name string) {
	for _, changed := range p.followers {
		changed(kind, namespace, name)
	}
	groups := v1alpha1.Groups()
	for _, other := range groups[slices.Index(groups, group):] {
		if other == group || p.object(other, kind, namespace, name) != nil {
			p.memory.Touch(translation.Source{Kind: kindOf(kind, other), Namespace: namespace, Name: name})
		}
	}
}

// classAnnotation names the class of an object, as spec.ingressClassName does.
const classAnnotation = "kubernetes.io/ingress.class"

// strip clears fields that are not read.
func strip(object metav1.Object) {
	class, given := object.GetAnnotations()[classAnnotation]
	object.SetAnnotations(nil)
	if given {
		object.SetAnnotations(map[string]string{classAnnotation: class})
	}
	object.SetLabels(nil)
	object.SetOwnerReferences(nil)
	object.SetFinalizers(nil)
}

// watchReferences watches what objects refer to.
func (p *Provider) watchReferences(cluster *client.Cluster, options static.KubernetesCRD) *references {
	scope := client.Scope{Namespaces: options.Namespaces}
	found := &references{
		custom:     p.object,
		services:   client.Watch(cluster, client.Services(), scope),
		secrets:    client.Watch(cluster, client.Secrets(), scope),
		configMaps: client.Watch(cluster, client.ConfigMaps(), scope),
	}
	p.others = []watch{found.services, found.secrets, found.configMaps}
	translation.Follow(p.memory, backend.KindService, found.services)
	translation.Follow(p.memory, backend.KindSecret, found.secrets)
	translation.Follow(p.memory, backend.KindConfigMap, found.configMaps)
	if !options.DisableClusterScopeResources {
		found.nodes = client.Watch(cluster, client.Nodes(), client.Scope{})
		p.others = append(p.others, found.nodes)
		found.nodes.Notify(func(before, after *corev1.Node) {
			if !slices.Equal(addresses(before), addresses(after)) {
				p.memory.Touch(backend.AllNodes())
			}
		})
	}
	return found
}

// addresses returns the internal addresses of a node, which may be nil.
func addresses(node *corev1.Node) []string {
	if node == nil {
		return nil
	}
	return backend.InternalIPs(one{node})
}

// one is a cluster of one node.
type one struct{ node *corev1.Node }

// Nodes implements backend.Nodes.
func (o one) Nodes() []*corev1.Node { return []*corev1.Node{o.node} }
