package report

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Ingresses are those whose load-balancer status is to be written; *ingress.Provider is one.
type Ingresses interface {
	// Claimed returns them; they are shared and are not changed.
	Claimed() iter.Seq[*networkingv1.Ingress]
	// OnClaimed sets a function that is called when Claimed may have changed.
	OnClaimed(changed func())
}

// Addresses are what the status of the Ingresses of one provider shows.
type Addresses struct {
	ingresses Ingresses
	// fixed are shown where no Service is published.
	fixed []address
	// published are Services, with the one that is named; nil when none is.
	published watch[*corev1.Service]
	namespace string
	service   string
	// nodes is nil when the addresses of Nodes are not to be shown.
	nodes watch[*corev1.Node]
}

// watch is one resource of the cluster, as client.Watched holds it.
type watch[T client.Object] interface {
	Get(namespace, name string) (T, bool)
	All() iter.Seq[T]
	Notify(handle func(before, after T))
	Status() client.Status
}

// NewAddresses returns the addresses of providers.kubernetesIngress.ingressEndpoint for the status of Ingresses, and
// with reportNodeInternalIPs, where these are none, the internal addresses of all Nodes; nil if there are none. The
// watches of the published Service and of Nodes are registered with the cluster, whose Run feeds them. A
// publishedService that is not namespace/name is an error.
func NewAddresses(
	cluster *client.Cluster, ingresses Ingresses, config static.KubernetesIngress, logger telemetry.Logger,
) (*Addresses, error) {
	a := &Addresses{ingresses: ingresses}
	var endpoint static.IngressEndpoint
	if config.IngressEndpoint != nil {
		endpoint = *config.IngressEndpoint
	}
	if err := a.publish(cluster, endpoint.PublishedService); err != nil {
		return nil, fmt.Errorf("ingressEndpoint.publishedService: %w", err)
	}
	if ip := endpoint.IP; ip != "" {
		if _, err := netip.ParseAddr(ip); err != nil {
			return nil, fmt.Errorf("ingressEndpoint.ip: %q is no IP address", ip)
		}
	}
	if endpoint.IP != "" || endpoint.Hostname != "" {
		a.fixed = []address{{endpoint.IP, endpoint.Hostname}}
	}
	switch {
	case config.ReportNodeInternalIPs && config.DisableClusterScopeResources:
		logger.Warn("providers.kubernetesIngress.reportNodeInternalIPs has no effect, since disableClusterScopeResources " +
			"keeps Nodes from being read")
	case config.ReportNodeInternalIPs:
		a.nodes = client.Watch(cluster, client.Nodes(), client.Scope{})
	}
	if a.published == nil && a.fixed == nil && a.nodes == nil {
		return nil, nil
	}
	return a, nil
}

// NewPublished returns the addresses of providers.kubernetesIngressNGINX.publishService or publishStatusAddress, of
// which exactly one is needed, for the status of Ingresses. The watch of the Service is registered with the cluster,
// whose Run feeds it. A publishService that is not namespace/name is an error.
func NewPublished(cluster *client.Cluster, ingresses Ingresses, config static.KubernetesNGINX) (*Addresses, error) {
	if (config.PublishService == "") == (len(config.PublishStatusAddress) == 0) {
		return nil, errors.New("publish needs either publishService or publishStatusAddress")
	}
	a := &Addresses{ingresses: ingresses}
	if err := a.publish(cluster, config.PublishService); err != nil {
		return nil, fmt.Errorf("publishService: %w", err)
	}
	for _, one := range config.PublishStatusAddress {
		if _, err := netip.ParseAddr(one); err == nil {
			a.fixed = append(a.fixed, address{ip: one})
		} else {
			a.fixed = append(a.fixed, address{hostname: one})
		}
	}
	return a, nil
}

// publish shows the addresses of a Service; an empty name shows none.
func (a *Addresses) publish(cluster *client.Cluster, name string) error {
	if name == "" {
		return nil
	}
	var divided bool
	if a.namespace, a.service, divided = strings.Cut(name, "/"); !divided || a.namespace == "" || a.service == "" ||
		strings.Contains(a.service, "/") {
		return fmt.Errorf("%q is not namespace/name", name)
	}
	a.published = client.Watch(cluster, namedService(a.service), client.Scope{Namespaces: []string{a.namespace}})
	return nil
}

// namedService is the resource of one Service with its addresses, for which a permission in its own namespace is
// enough.
func namedService(name string) client.Resource[*corev1.Service] {
	return client.Resource[*corev1.Service]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "services", Kind: "Service", Namespaced: true,
		NewList:       func() runtime.Object { return &corev1.ServiceList{} },
		FieldSelector: "metadata.name=" + name,
	}
}

// address is what one entry of a load-balancer status shows.
type address struct{ ip, hostname string }

// now returns the addresses, sorted. reason is why there are none, and is empty if that is not known yet.
func (a *Addresses) now() (found []address, reason string) {
	if found = slices.Clone(a.fixed); a.published != nil {
		found, reason = a.ofService()
	}
	if len(found) == 0 && a.nodes != nil {
		found = a.ofNodes()
	}
	return sorted(found), reason
}

// sorted sorts addresses and drops repetitions.
func sorted(addresses []address) []address {
	slices.SortFunc(addresses, func(x, y address) int {
		return cmp.Or(cmp.Compare(x.ip, y.ip), cmp.Compare(x.hostname, y.hostname))
	})
	return slices.Compact(addresses)
}

// ofService returns the external addresses of the published Service, by its type.
func (a *Addresses) ofService() (found []address, reason string) {
	service, ok := a.published.Get(a.namespace, a.service)
	if !ok {
		if status := a.published.Status(); status.Reason != "" || !settled(status) {
			return nil, status.Reason
		}
		return nil, "the published Service " + a.namespace + "/" + a.service + " does not exist"
	}
	for _, external := range service.Spec.ExternalIPs {
		found = append(found, address{ip: external})
	}
	switch service.Spec.Type {
	case corev1.ServiceTypeLoadBalancer:
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			found = append(found, address{ingress.IP, ingress.Hostname})
		}
	case corev1.ServiceTypeExternalName:
		found = []address{{hostname: service.Spec.ExternalName}}
	case corev1.ServiceTypeNodePort:
	default:
		if ip := service.Spec.ClusterIP; len(found) == 0 && ip != "" && ip != corev1.ClusterIPNone {
			found = append(found, address{ip: ip})
		}
	}
	if len(found) == 0 {
		reason = "the published Service " + a.namespace + "/" + a.service + " has no address"
	}
	return found, reason
}

func (a *Addresses) ofNodes() (found []address) {
	for node := range a.nodes.All() {
		for _, one := range node.Status.Addresses {
			if one.Type == corev1.NodeInternalIP {
				found = append(found, address{ip: one.Address})
			}
		}
	}
	return found
}

// onChange has the function called when something of all this may have changed.
func (a *Addresses) onChange(changed func()) {
	a.ingresses.OnClaimed(changed)
	if a.published != nil {
		a.published.Notify(func(_, _ *corev1.Service) { changed() })
	}
	if a.nodes != nil {
		a.nodes.Notify(func(_, _ *corev1.Node) { changed() })
	}
}
