package ingressnginx

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// watches are what the provider reads.
type watches struct {
	ingresses  client.Watcher[*networkingv1.Ingress]
	classes    client.Watcher[*networkingv1.IngressClass]
	services   client.Watcher[*corev1.Service]
	secrets    client.Watcher[*corev1.Secret]
	configMaps client.Watcher[*corev1.ConfigMap]
	// namespaces is nil unless their labels decide about Ingresses.
	namespaces client.Watcher[*corev1.Namespace]
}

// watchAll registers the watches of a cluster.
func watchAll(cluster *client.Cluster, config static.KubernetesNGINX) watches {
	scope := client.Scope{Namespaces: Namespaces(config)}
	all := watches{
		ingresses:  client.Watch(cluster, client.Ingresses(), client.Scope{Namespaces: watchedNamespaces(config)}),
		classes:    client.Watch(cluster, client.IngressClasses(), client.Scope{}),
		services:   client.Watch(cluster, client.Services(), scope),
		secrets:    client.Watch(cluster, client.WholeSecrets(), scope),
		configMaps: client.Watch(cluster, client.WholeConfigMaps(), scope),
	}
	if config.WatchNamespaceSelector != "" {
		all.namespaces = client.Watch(cluster, client.Namespaces(), client.Scope{})
	}
	return all
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

// ConfigMap returns a ConfigMap, or nil when it is not there.
func (w *watches) ConfigMap(namespace, name string) *corev1.ConfigMap {
	found, _ := w.configMaps.Get(namespace, name)
	return found
}

// Ingress returns an Ingress, or nil when it is not there.
func (w *watches) Ingress(namespace, name string) *networkingv1.Ingress {
	ingress, _ := w.ingresses.Get(namespace, name)
	return ingress
}

// Nodes implements backend.Nodes. Ingresses never lead to node ports.
func (*watches) Nodes() []*corev1.Node { return nil }

// followAll subscribes to everything.
func (p *Provider) followAll() {
	translation.Follow(p.memory, kindClass, p.watches.classes)
	translation.Follow(p.memory, backend.KindService, p.watches.services)
	translation.Follow(p.memory, backend.KindSecret, p.watches.secrets)
	translation.Follow(p.memory, backend.KindConfigMap, p.watches.configMaps)
	if p.watches.namespaces != nil {
		translation.Follow(p.memory, kindNamespace, p.watches.namespaces)
	}
	p.watches.ingresses.Notify(p.followIngress)
	p.memory.Touch(settingsSource())
	p.memory.Touch(serverSource(anyHost))
}

// followIngress notes that an Ingress has changed, and with it its hosts and the Services that it leads to.
func (p *Provider) followIngress(before, after *networkingv1.Ingress) {
	if before != nil && after != nil && sameIngress(before, after) {
		p.index.replace(before, after)
		return
	}
	hosts, services := p.index.replace(before, after)
	// Plans come first, since the translation of an Ingress needs them.
	for _, host := range hosts {
		p.memory.Touch(serverSource(host))
	}
	for _, key := range services {
		p.memory.Touch(key.source())
	}
	p.memory.Touch(ingressSource(nameOf(translation.Last(before, after))))
}

// sameIngress reports whether two versions of an Ingress differ in status alone.
func sameIngress(before, after *networkingv1.Ingress) bool {
	return after.Generation != 0 && before.Generation == after.Generation && before.UID == after.UID &&
		maps.Equal(before.Annotations, after.Annotations)
}

// claimed returns the Ingresses of this provider among some, and adds what that depends on to a result.
func (p *Provider) claimed(all []*networkingv1.Ingress, result *translation.Result) []*networkingv1.Ingress {
	return slices.DeleteFunc(all, func(ingress *networkingv1.Ingress) bool {
		ours, needs := p.selector.Claims(ingress)
		result.Needs = append(result.Needs, needs...)
		return !ours
	})
}
