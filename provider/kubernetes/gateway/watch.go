package gateway

import (
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// watches are what the provider reads.
type watches struct {
	classes      client.Watcher[*gatewayv1.GatewayClass]
	gateways     client.Watcher[*gatewayv1.Gateway]
	listenerSets client.Watcher[*gatewayv1.ListenerSet]
	httpRoutes   client.Watcher[*gatewayv1.HTTPRoute]
	grpcRoutes   client.Watcher[*gatewayv1.GRPCRoute]
	tlsRoutes    client.Watcher[*gatewayv1.TLSRoute]
	tcpRoutes    client.Watcher[*gatewayv1.TCPRoute]
	udpRoutes    client.Watcher[*gatewayv1.UDPRoute]
	grants       client.Watcher[*gatewayv1beta1.ReferenceGrant]
	policies     client.Watcher[*gatewayv1.BackendTLSPolicy]
	namespaces   client.Watcher[*corev1.Namespace]
	services     client.Watcher[*corev1.Service]
	secrets      client.Watcher[*corev1.Secret]
	configMaps   client.Watcher[*corev1.ConfigMap]
	definitions  client.Watcher[*metav1.PartialObjectMetadata]
}

// watchAll registers the watches of a cluster.
func watchAll(cluster *client.Cluster, namespaces []string, classes string) watches {
	scope := client.Scope{Namespaces: namespaces}
	return watches{
		classes:      client.Watch(cluster, client.GatewayClasses(), client.Scope{LabelSelector: classes}),
		gateways:     client.Watch(cluster, client.Gateways(), scope),
		listenerSets: client.Watch(cluster, client.ListenerSets(), scope),
		httpRoutes:   client.Watch(cluster, client.HTTPRoutes(), scope),
		grpcRoutes:   client.Watch(cluster, client.GRPCRoutes(), scope),
		tlsRoutes:    client.Watch(cluster, client.TLSRoutes(), scope),
		tcpRoutes:    client.Watch(cluster, client.TCPRoutes(), scope),
		udpRoutes:    client.Watch(cluster, client.UDPRoutes(), scope),
		grants:       client.Watch(cluster, client.ReferenceGrants(), scope),
		policies:     client.Watch(cluster, client.BackendTLSPolicies(), scope),
		namespaces:   client.Watch(cluster, client.Namespaces(), client.Scope{}),
		services:     client.Watch(cluster, client.Services(), scope),
		secrets:      client.Watch(cluster, client.Secrets(), scope),
		configMaps:   client.Watch(cluster, client.ConfigMaps(), scope),
		definitions:  client.Watch(cluster, client.GatewayDefinitions(), client.Scope{}),
	}
}

// Service implements backend.Services.
func (w *watches) Service(namespace, name string) *corev1.Service {
	service, _ := w.services.Get(namespace, name)
	return service
}

// Secret implements backend.Secrets.
func (w *watches) Secret(namespace, name string) *corev1.Secret {
	secret, _ := w.secrets.Get(namespace, name)
	return secret
}

// Nodes implements backend.Nodes. References of the Gateway API never lead to node ports.
func (*watches) Nodes() []*corev1.Node { return nil }

// index finds objects by what they refer to.
type index struct {
	mu sync.Mutex
	of map[types.NamespacedName]map[types.NamespacedName]struct{}
}

// add notes that an object refers to a target.
func (i *index) add(target, object types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of == nil {
		i.of = map[types.NamespacedName]map[types.NamespacedName]struct{}{}
	}
	if i.of[target] == nil {
		i.of[target] = map[types.NamespacedName]struct{}{}
	}
	i.of[target][object] = struct{}{}
}

// remove notes that an object does not refer to a target any more.
func (i *index) remove(target, object types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.of[target], object)
	if len(i.of[target]) == 0 {
		delete(i.of, target)
	}
}

// list returns the objects that refer to a target, in no order.
func (i *index) list(target types.NamespacedName) []types.NamespacedName {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make([]types.NamespacedName, 0, len(i.of[target]))
	for object := range i.of[target] {
		all = append(all, object)
	}
	return all
}

// nameOf returns the name of an object.
func nameOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// sameSpec reports whether two versions of an object of the Gateway API differ in status alone.
func sameSpec(before, after client.Object) bool {
	return after.GetGeneration() != 0 && before.GetGeneration() == after.GetGeneration() &&
		before.GetUID() == after.GetUID()
}

// follow has a function called for each change of more than the status of an object. Before and after are nil as in
// client.Watched.Notify.
func follow[T client.Object](of client.Watcher[T], handle func(before, after T, name types.NamespacedName)) {
	var none T
	of.Notify(func(before, after T) {
		switch {
		case any(before) == any(none):
			handle(before, after, nameOf(after))
		case any(after) == any(none):
			handle(before, after, nameOf(before))
		case !sameSpec(before, after):
			handle(before, after, nameOf(after))
		}
	})
}

// touch passes the changes of a kind of the Gateway API on to the memory.
func touch[T client.Object](p *Provider, kind string, of client.Watcher[T]) {
	follow(of, func(_, _ T, name types.NamespacedName) { p.memory.Touch(sourceOf(kind, name)) })
}

// followAll subscribes to everything.
func (p *Provider) followAll() {
	w := &p.watches
	translation.Follow(p.memory, backend.KindService, w.services)
	translation.Follow(p.memory, backend.KindSecret, w.secrets)
	translation.Follow(p.memory, backend.KindConfigMap, w.configMaps)
	translation.Follow(p.memory, kindNamespace, w.namespaces)
	translation.Follow(p.memory, kindDefinition, w.definitions)
	follow(w.grants, func(_, _ *gatewayv1beta1.ReferenceGrant, name types.NamespacedName) {
		in := types.NamespacedName{Namespace: name.Namespace}
		if _, found := w.grants.Get(name.Namespace, name.Name); found {
			p.grants.add(in, name)
		} else {
			p.grants.remove(in, name)
		}
		p.memory.Touch(virtual(kindGrantsIn, in))
	})
	follow(w.listenerSets, p.followSet)
	follow(w.policies, p.followPolicy)
	follow(w.gateways, p.followGateway)
	w.gateways.Notify(p.followAddresses)
	touch(p, kindClass, w.classes)
	touch(p, kindHTTPRoute, w.httpRoutes)
	touch(p, kindGRPCRoute, w.grpcRoutes)
	touch(p, kindTLSRoute, w.tlsRoutes)
	touch(p, kindTCPRoute, w.tcpRoutes)
	touch(p, kindUDPRoute, w.udpRoutes)
}

// followSet notes of which Gateway a ListenerSet is.
func (p *Provider) followSet(before, after *gatewayv1.ListenerSet, name types.NamespacedName) {
	if before != nil {
		p.sets.remove(parentOf(before), name)
		p.memory.Touch(virtual(kindSetsOf, parentOf(before)))
	}
	if after != nil {
		p.sets.add(parentOf(after), name)
		p.memory.Touch(virtual(kindSetsOf, parentOf(after)))
	}
	p.memory.Touch(sourceOf(kindListenerSet, name))
}

// followPolicy notes to which Services a policy belongs.
func (p *Provider) followPolicy(before, after *gatewayv1.BackendTLSPolicy, name types.NamespacedName) {
	if before != nil {
		for _, service := range targetsOf(before) {
			p.policies.remove(service, name)
			p.memory.Touch(virtual(kindPoliciesOf, service))
		}
	}
	if after != nil {
		for _, service := range targetsOf(after) {
			p.policies.add(service, name)
			p.memory.Touch(virtual(kindPoliciesOf, service))
		}
	}
	p.memory.Touch(sourceOf(kindPolicy, name))
}

// followGateway notes that a Gateway has changed, and its class with it.
func (p *Provider) followGateway(before, after *gatewayv1.Gateway, name types.NamespacedName) {
	for _, gateway := range []*gatewayv1.Gateway{before, after} {
		if gateway != nil {
			p.memory.Touch(virtual(kindGatewaysOf, types.NamespacedName{Name: string(gateway.Spec.GatewayClassName)}))
		}
	}
	p.memory.Touch(sourceOf(kindGateway, name))
}

// followAddresses has a Gateway exposed again when the addresses of its status have changed, in which the exposure
// records its decisions.
func (p *Provider) followAddresses(before, after *gatewayv1.Gateway) {
	if before != nil && after != nil && !reflect.DeepEqual(before.Status.Addresses, after.Status.Addresses) {
		p.memory.Touch(virtual(kindExposure, nameOf(after)))
	}
}
