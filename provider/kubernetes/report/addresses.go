package report

import (
	"cmp"
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
	// OnClaimed has the function called when Claimed may say something else than before.
	OnClaimed(changed func())
}

// Addresses are what the status of Ingresses shows: those of providers.kubernetesIngress.ingressEndpoint, and with
// reportNodeInternalIPs, where these are none, the internal addresses of all Nodes.
type Addresses struct {
	ingresses Ingresses
	endpoint  static.IngressEndpoint
	// published are Services, with the one that the endpoint names; nil when it names none.
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

// NewAddresses returns what the options say is to be shown on the Ingresses; nil when that is nothing. The watches of
// the published Service and of Nodes are registered with the cluster, whose Run feeds them. A publishedService that is
// not namespace/name is an error.
func NewAddresses(
	cluster *client.Cluster, ingresses Ingresses, config static.KubernetesIngress, logger telemetry.Logger,
) (*Addresses, error) {
	a := &Addresses{ingresses: ingresses}
	if config.IngressEndpoint != nil {
		a.endpoint = *config.IngressEndpoint
	}
	if name := a.endpoint.PublishedService; name != "" {
		var ok bool
		if a.namespace, a.service, ok = strings.Cut(name, "/"); !ok || a.namespace == "" || a.service == "" || strings.Contains(a.service, "/") {
			return nil, fmt.Errorf("providers.kubernetesIngress.ingressEndpoint.publishedService: %q is not namespace/name", name)
		}
		a.published = client.Watch(cluster, namedService(a.service), client.Scope{Namespaces: []string{a.namespace}})
	}
	if ip := a.endpoint.IP; ip != "" {
		if _, err := netip.ParseAddr(ip); err != nil {
			return nil, fmt.Errorf("providers.kubernetesIngress.ingressEndpoint.ip: %q is no IP address", ip)
		}
	}
	switch {
	case config.ReportNodeInternalIPs && config.DisableClusterScopeResources:
		logger.Warn("providers.kubernetesIngress.reportNodeInternalIPs has no effect, since disableClusterScopeResources keeps Nodes from being read")
	case config.ReportNodeInternalIPs:
		a.nodes = client.Watch(cluster, client.Nodes(), client.Scope{})
	}
	if a.endpoint == (static.IngressEndpoint{}) && a.nodes == nil {
		return nil, nil
	}
	return a, nil
}

// namedService is the resource of one Service with all that says where it is reached, for which a right in its own
// namespace is enough.
func namedService(name string) client.Resource[*corev1.Service] {
	return client.Resource[*corev1.Service]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "services", Kind: "Service", Namespaced: true,
		NewList:       func() runtime.Object { return &corev1.ServiceList{} },
		FieldSelector: "metadata.name=" + name,
	}
}

// address is what one entry of a load-balancer status shows.
type address struct{ ip, hostname string }

// now returns the addresses, sorted. Reason says why there are none, and is empty when that is not known yet.
func (a *Addresses) now() (found []address, reason string) {
	switch {
	case a.published != nil:
		found, reason = a.ofService()
	case a.endpoint.IP != "" || a.endpoint.Hostname != "":
		found = []address{{a.endpoint.IP, a.endpoint.Hostname}}
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

// ofService returns where the published Service is reached from outside, as its type says.
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
