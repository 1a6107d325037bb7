package gateway

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// Provider is the provider of the Gateway API. Its zero value is not usable, see New.
type Provider struct {
	options static.KubernetesGateway
	// source is the first part of endpoint keys.
	source   string
	watches  watches
	exposure Exposure
	// extensions are the custom resources that routes may refer to; nil when none are read.
	extensions Extensions
	// documents says that objects come from manifests.
	documents bool
	// divided says which Services are divided into environments; nil divides none.
	divided  backend.EnvironmentWatch
	memory   *translation.Memory
	statuses *Statuses
	// sets are the ListenerSets of Gateways, policies the BackendTLSPolicies of Services, grants the ReferenceGrants of
	// namespaces.
	sets, policies, grants index
	// statusChanged holds a value when the status of a watch may have changed.
	statusChanged chan struct{}

	// What follows belongs to Provide. Plans and views are those of this controller's objects alone; again says that an
	// update needs a further round.
	pairs       backend.Pairs
	authorities authorities
	plans       map[types.NamespacedName]*plan
	views       map[owner]*view
	counts      *counts
	contention  *contention
	// acceptedConditions are those of routes that are accepted, with resolved references, by generation.
	acceptedConditions map[int64][]metav1.Condition
	again              bool
	trusted            bool
}

// New returns the provider of the Gateway API in a cluster, whose connection must have its types
// (client.AddGatewayToScheme). Options are providers.kubernetesGateway; a labelSelector that is none is an error. The
// exposure says where Gateways are bound. Environments says which Services are divided; nil divides none. Counters may
// be nil. The watches are registered with the cluster, whose Run feeds them.
func New(
	cluster *client.Cluster, options static.KubernetesGateway, exposure Exposure, environments backend.EnvironmentWatch,
	counters translation.Counters,
) (*Provider, error) {
	if _, err := labels.Parse(options.LabelSelector); err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	all := watchAll(cluster, options.Namespaces, options.LabelSelector)
	p := assemble(cluster.Source(), options, all, exposure, counters)
	cluster.OnStatus(p.wake)
	if environments != nil {
		p.divided = environments
		environments.OnStatus(p.wake)
		environments.Notify(func(namespace, service string) {
			p.memory.Touch(translation.Source{Kind: backend.KindEnvironment, Namespace: namespace, Name: service})
		})
	}
	return p, nil
}

// assemble makes a provider of its parts.
func assemble(
	source string, options static.KubernetesGateway, all watches, exposure Exposure, counters translation.Counters,
) *Provider {
	p := &Provider{
		options: options, source: source, watches: all, exposure: exposure,
		memory: translation.New(Name, kinds(), counters), statuses: newStatuses(), statusChanged: make(chan struct{}, 1),
		plans: map[types.NamespacedName]*plan{}, views: map[owner]*view{}, counts: newCounts(), contention: newContention(),
		acceptedConditions: map[int64][]metav1.Condition{},
	}
	_, p.documents = exposure.(*Documents)
	exposure.Notify(func(gateway types.NamespacedName) { p.memory.Touch(virtual(kindExposure, gateway)) })
	p.followAll()
	return p
}

// Statuses returns the statuses of the objects of this controller.
func (p *Provider) Statuses() *Statuses { return p.statuses }

// Activated takes the configuration of this provider that is part of the active table, and the verdicts on that table:
// a listener is programmed while it is active and its address is bound. Gateways and ListenerSets have no status before
// the first call, so that a restart takes back no status. It returns at once.
func (p *Provider) Activated(active *dynamic.Configuration, verdicts []dynamic.Verdict) {
	changed, first := p.statuses.activate(active, verdicts)
	for _, name := range changed {
		p.memory.Touch(translation.Source{Kind: kindActivity, Name: name})
	}
	if first { // Also the statuses without a listener have waited.
		p.memory.Touch(translation.Source{Kind: kindActivity})
	}
}

// kindActivity is whether a declared listener is active.
const kindActivity = "ListenerActivity"

// environments returns which Services are divided; nil when none is.
func (p *Provider) environments() backend.Environments {
	if p.divided == nil {
		return nil
	}
	return p.divided
}

// wake notes that the status of a watch may have changed. It returns at once.
func (p *Provider) wake() {
	select {
	case p.statusChanged <- struct{}{}:
	default:
	}
}

// translate translates a source; it is false when the object does not exist, or is not this controller's.
func (p *Provider) translate(source translation.Source) (translation.Result, bool) {
	switch source.Kind {
	case kindOf(kindClass):
		return p.translateClass(source)
	case kindOf(kindGateway):
		return p.translateGateway(source)
	case kindOf(kindListenerSet):
		return p.translateListenerSet(source)
	case kindOf(kindHTTPRoute):
		return p.translateHTTPRoute(source)
	case kindOf(kindGRPCRoute):
		return p.translateGRPCRoute(source)
	case kindOf(kindTLSRoute):
		return p.translateTLSRoute(source)
	case kindOf(kindTCPRoute):
		return p.translateTCPRoute(source)
	case kindOf(kindUDPRoute):
		return p.translateUDPRoute(source)
	case kindOf(kindPolicy):
		return p.translatePolicy(source)
	}
	return translation.Result{}, false
}

// mostRounds bounds the rounds of one update: a Gateway, its ListenerSets, their routes, the policies of these.
const mostRounds = 8

// update translates what has changed and returns the whole.
func (p *Provider) update() (configuration *dynamic.Configuration, changed bool) {
	defer p.pairs.Forget()
	defer p.authorities.forget()
	for range mostRounds {
		p.again = false
		next, differs := p.memory.Update(p.translate)
		configuration, changed = next, changed || differs
		if !p.again {
			break
		}
	}
	p.statuses.settle()
	return configuration, changed
}

// Exists reports whether an object is there.
func (p *Provider) Exists(resource *dynamic.Resource) bool {
	if resource.APIVersion != gatewayv1.GroupVersion.String() {
		return false
	}
	object := p.object(resource.Kind, resource.Namespace, resource.Name)
	return object != nil && string(object.GetUID()) == resource.UID
}

// object returns an object of the Gateway API; nil when it does not exist.
func (p *Provider) object(kind, namespace, name string) client.Object {
	w := &p.watches
	switch kind {
	case kindClass:
		return got(w.classes, "", name)
	case kindGateway:
		return got(w.gateways, namespace, name)
	case kindListenerSet:
		return got(w.listenerSets, namespace, name)
	case kindHTTPRoute:
		return got(w.httpRoutes, namespace, name)
	case kindGRPCRoute:
		return got(w.grpcRoutes, namespace, name)
	case kindTLSRoute:
		return got(w.tlsRoutes, namespace, name)
	case kindTCPRoute:
		return got(w.tcpRoutes, namespace, name)
	case kindUDPRoute:
		return got(w.udpRoutes, namespace, name)
	case kindPolicy:
		return got(w.policies, namespace, name)
	}
	return nil
}

// got returns an object of a watch as an interface that is nil when it does not exist.
func got[T client.Object](of client.Watcher[T], namespace, name string) client.Object {
	if object, found := of.Get(namespace, name); found {
		return object
	}
	return nil
}

// Object implements status.Objects.
func (p *Provider) Object(key status.Key) (object metav1.Object, version string, ok bool) {
	found := p.object(string(key.Kind), key.Namespace, key.Name)
	if found == nil {
		return nil, "", false
	}
	return found, gatewayv1.GroupVersion.Version, true
}

// FollowObjects has the function called for each new version of an object with a status, also where only its status
// has changed. It must return at once.
func (p *Provider) FollowObjects(changed func(status.Key)) {
	w := &p.watches
	followVersions(w.classes, status.GatewayClass, changed)
	followVersions(w.gateways, status.Gateway, changed)
	followVersions(w.listenerSets, status.ListenerSet, changed)
	followVersions(w.httpRoutes, status.HTTPRoute, changed)
	followVersions(w.grpcRoutes, status.GRPCRoute, changed)
	followVersions(w.tlsRoutes, status.TLSRoute, changed)
	followVersions(w.tcpRoutes, status.TCPRoute, changed)
	followVersions(w.udpRoutes, status.UDPRoute, changed)
	followVersions(w.policies, status.BackendTLSPolicy, changed)
}

// followVersions has a function called for each new version of an object.
func followVersions[T client.Object](of client.Watcher[T], kind status.Kind, changed func(status.Key)) {
	var none T
	of.Notify(func(_, after T) {
		if any(after) != any(none) {
			changed(status.Key{Kind: kind, NamespacedName: nameOf(after)})
		}
	})
}
