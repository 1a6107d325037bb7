package ingress

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
)

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

// Nodes implements backend.Nodes.
func (w *watches) Nodes() []*corev1.Node {
	if w.nodes == nil {
		return nil
	}
	return slices.Collect(w.nodes.All())
}

// oneNode is a cluster of at most one node.
type oneNode struct{ node *corev1.Node }

// Nodes implements backend.Nodes.
func (o oneNode) Nodes() []*corev1.Node {
	if o.node == nil {
		return nil
	}
	return []*corev1.Node{o.node}
}

// touchNode marks sources as changed if the addresses of a node have changed.
func (p *Provider) touchNode(before, after *corev1.Node) {
	if !slices.Equal(backend.InternalIPs(oneNode{before}), backend.InternalIPs(oneNode{after})) {
		p.memory.Touch(backend.AllNodes())
	}
}
