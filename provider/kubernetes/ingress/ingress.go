// Package ingress is the provider "kubernetes", which translates the Ingresses of a cluster.
//
// Ingresses, selected by their IngressClasses, become routers, services and certificates, with a verdict for each
// error. One Ingress is translated at a time and cached, so that a change translates only what it affects. Services
// name the endpoint sets of another provider. Claimed lists the Ingresses whose status is to be written.
package ingress

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// Name is the provider's name, the part behind @ of the names of its objects.
const Name = "kubernetes"

// The kinds that are translated or decide about it, beside those of backends.
const (
	kindIngress = "Ingress"
	kindClass   = "IngressClass"
)

// watches are what the provider reads.
type watches struct {
	ingresses client.Watcher[*networkingv1.Ingress]
	services  client.Watcher[*corev1.Service]
	secrets   client.Watcher[*corev1.Secret]
	// classes is nil when IngressClasses are not to be read, nodes when nothing of the whole cluster is.
	classes client.Watcher[*networkingv1.IngressClass]
	nodes   client.Watcher[*corev1.Node]
	// excluding are the IngressClasses that decide which Ingresses another provider reads; nil for no other provider.
	excluding client.Watcher[*networkingv1.IngressClass]
	// namespaces is nil unless the labels of Namespaces decide about that too.
	namespaces client.Watcher[*corev1.Namespace]
}

// Exclusion says which Ingresses another provider reads; *ingressnginx.Selector is one. Its methods may be called from
// any goroutine.
type Exclusion interface {
	// Excludes reports whether the other provider reads an Ingress, by the Ingress, its IngressClass and its Namespace.
	Excludes(ingress *networkingv1.Ingress) bool
	// ByNamespace reports whether the Namespace counts.
	ByNamespace() bool
}

// Provider is the provider of Ingresses.
type Provider struct {
	config   static.KubernetesIngress
	source   string
	watches  watches
	selector selector
	// environments says which Services are divided; nil divides none.
	environments backend.EnvironmentWatch
	memory       *translation.Memory
	// status holds a value when the status of a watch may have changed.
	status chan struct{}
	// election and pairs belong to Provide, and are cleared between rounds.
	election election
	pairs    backend.Pairs
}

// New returns the provider of the Ingresses of a cluster. Config is providers.kubernetesIngress; a labelSelector that
// is none is an error. Environments says which Services are divided into environments; nil divides none. Counters may
// be nil. Exclusion may be nil, which excludes none. The watches are registered with the cluster, whose Run feeds them.
func New(
	cluster *client.Cluster, config static.KubernetesIngress, environments backend.EnvironmentWatch,
	counters translation.Counters, exclusion Exclusion,
) (*Provider, error) {
	if _, err := labels.Parse(config.LabelSelector); err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	scope := client.Scope{Namespaces: config.Namespaces}
	selected := client.Scope{Namespaces: config.Namespaces, LabelSelector: config.LabelSelector}
	all := watches{
		ingresses: client.Watch(cluster, client.Ingresses(), selected),
		services:  client.Watch(cluster, client.Services(), scope),
		secrets:   client.Watch(cluster, client.Secrets(), scope),
	}
	if !config.DisableClusterScopeResources {
		all.nodes = client.Watch(cluster, client.Nodes(), client.Scope{})
		if !config.DisableIngressClassLookup {
			all.classes = client.Watch(cluster, client.IngressClasses(), client.Scope{})
		}
	}
	if exclusion != nil {
		all.excluding = client.Watch(cluster, client.IngressClasses(), client.Scope{})
		if exclusion.ByNamespace() {
			all.namespaces = client.Watch(cluster, client.Namespaces(), client.Scope{})
		}
	}
	p := assemble(cluster.Source(), config, all, counters)
	if exclusion != nil {
		p.selector.excludes = exclusion.Excludes
	}
	cluster.OnStatus(p.statusChanged)
	if environments != nil {
		p.environments = environments
		environments.OnStatus(p.statusChanged)
		environments.Notify(func(namespace, service string) {
			p.memory.Touch(translation.Source{Kind: backend.KindEnvironment, Namespace: namespace, Name: service})
		})
	}
	return p, nil
}

// assemble makes a provider of its parts.
func assemble(source string, config static.KubernetesIngress, all watches, counters translation.Counters) *Provider {
	p := &Provider{
		config: config, source: source, watches: all,
		selector: selector{class: config.IngressClass},
		memory:   translation.New(Name, []string{kindIngress, kindDefault}, counters),
		status:   make(chan struct{}, 1),
	}
	if all.classes != nil {
		p.selector.lookup = p.class
		translation.Follow(p.memory, kindClass, all.classes)
		all.classes.Notify(func(_, _ *networkingv1.IngressClass) { p.memory.Touch(theDefault()) })
	}
	if all.excluding != nil {
		translation.Follow(p.memory, kindClass, all.excluding)
		all.excluding.Notify(func(_, _ *networkingv1.IngressClass) { p.memory.Touch(theDefault()) })
	}
	if all.namespaces != nil {
		all.namespaces.Notify(p.touchNamespace)
	}
	if all.nodes != nil {
		all.nodes.Notify(p.touchNode)
	}
	translation.Follow(p.memory, backend.KindService, all.services)
	translation.Follow(p.memory, backend.KindSecret, all.secrets)
	translation.Follow(p.memory, kindIngress, all.ingresses)
	all.ingresses.Notify(p.touchDefault)
	return p
}

// touchNamespace marks the Ingresses of a namespace as changed, and the default backend.
func (p *Provider) touchNamespace(before, after *corev1.Namespace) {
	if after == nil {
		after = before
	}
	for ingress := range p.watches.ingresses.All() {
		if ingress.Namespace == after.Name {
			p.memory.Touch(translation.Source{Kind: kindIngress, Namespace: ingress.Namespace, Name: ingress.Name})
		}
	}
	p.memory.Touch(theDefault())
}

func (p *Provider) class(name string) *networkingv1.IngressClass {
	class, _ := p.watches.classes.Get("", name)
	return class
}

// statusChanged notes that the status of a watch may have changed. It returns at once.
func (p *Provider) statusChanged() {
	select {
	case p.status <- struct{}{}:
	default:
	}
}
