package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// rewriteAfter is the least time until the same addresses are written to the same Ingress again: with another writer of
// the same status, each would otherwise overwrite the other as fast as the watch reports it.
const rewriteAfter = 30 * time.Second

// written is a status that was written to an Ingress.
type written struct {
	// version is the Ingress's resourceVersion before; it differs once the watch shows what was written.
	version   string
	when      time.Time
	addresses []address
}

// ingressStatus writes the load-balancer status of Ingresses. An Ingress that is no longer claimed is left as it is,
// since it may belong to another controller. It belongs to the goroutine of its run.
type ingressStatus struct {
	options     Options
	permissions *permissionErrors
	changed     chan struct{}

	// sent is what was written recently, or is not visible in the watch yet, by uid.
	sent map[types.UID]written
	// pausedUntil is when writing goes on in a namespace after a refusal.
	pausedUntil map[string]time.Time
	limit       *rate.Limiter
	reason      string
}

func newIngressStatus(options Options, permissions *permissionErrors) *ingressStatus {
	s := &ingressStatus{
		options: options, permissions: permissions, changed: make(chan struct{}, 1),
		limit: rate.NewLimiter(rate.Every(statusInterval), statusBurst),
	}
	options.Addresses.onChange(func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	})
	return s
}

// run writes until ctx ends.
func (s *ingressStatus) run(ctx context.Context) {
	s.sent, s.pausedUntil, s.reason = map[types.UID]written{}, map[string]time.Time{}, ""
	compare := time.NewTicker(compareEvery)
	defer compare.Stop()
	timer := newAlarm()
	defer timer.Stop()
	timer.within(gather)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			timer.within(gather)
		case <-compare.C:
			timer.within(gather)
		case <-timer.C:
			timer.fired()
			if delay := s.write(ctx); delay > 0 {
				timer.within(delay)
			}
		}
	}
}

// write writes every status that differs as fast as the limits allow. It returns the delay until more may be written; 0
// means that nothing is left.
func (s *ingressStatus) write(ctx context.Context) time.Duration {
	addresses, reason := s.options.Addresses.now()
	if len(addresses) > 0 {
		reason = ""
	}
	if reason != s.reason && reason != "" {
		s.options.Logger.Warn("the status of Ingresses is not written", "reason", reason)
	}
	if s.reason = reason; len(addresses) == 0 {
		return 0
	}
	sent := map[types.UID]written{}
	defer func() { s.sent = sent }()
	var delay time.Duration
	for ingress := range s.options.Addresses.ingresses.Claimed() {
		now := time.Now()
		before, known := s.sent[ingress.UID]
		again := before.when.Add(rewriteAfter).Sub(now)
		if known && (again > 0 || before.version == ingress.ResourceVersion) {
			sent[ingress.UID] = before
		}
		switch {
		case slices.Equal(shown(ingress), addresses) || known && before.version == ingress.ResourceVersion:
			continue // It is right, or the watch does not show yet what was written.
		case known && again > 0 && slices.Equal(before.addresses, addresses):
			delay = earlier(delay, again)
			continue
		case now.Before(s.pausedUntil[ingress.Namespace]) || ctx.Err() != nil:
			continue
		}
		if full := tokenDelay(s.limit, now); full > 0 {
			delay = earlier(delay, full)
			continue
		}
		s.limit.AllowN(now, 1)
		switch err := s.patch(ctx, ingress, addresses); {
		case err == nil:
			sent[ingress.UID] = written{ingress.ResourceVersion, now, addresses}
		case apierrors.IsForbidden(err):
			s.pausedUntil[ingress.Namespace] = now.Add(pauseAfterRefusal)
		case !permanent(err):
			delay = earlier(delay, pauseAfterFailure)
		}
	}
	return delay
}

// patch writes the status of one Ingress.
func (s *ingressStatus) patch(ctx context.Context, ingress *networkingv1.Ingress, addresses []address) error {
	wanted := make([]networkingv1.IngressLoadBalancerIngress, 0, len(addresses))
	for _, one := range addresses {
		wanted = append(wanted, networkingv1.IngressLoadBalancerIngress{IP: one.ip, Hostname: one.hostname})
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": wanted}}})
	if err != nil {
		return fmt.Errorf("status of Ingress %s/%s: %w", ingress.Namespace, ingress.Name, err)
	}
	rest, err := s.options.Clients.REST(networkingv1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	err = rest.Patch(types.MergePatchType).Namespace(ingress.Namespace).Resource("ingresses").Name(ingress.Name).
		SubResource("status").Body(body).Timeout(requestTimeout).MaxRetries(0).Do(ctx).Error()
	s.permissions.note("patch", "ingresses/status."+networkingv1.GroupName, ingress.Namespace, err)
	return err
}

// shown returns the addresses that an Ingress shows, sorted as Addresses are.
func shown(ingress *networkingv1.Ingress) []address {
	found := make([]address, 0, len(ingress.Status.LoadBalancer.Ingress))
	for _, one := range ingress.Status.LoadBalancer.Ingress {
		found = append(found, address{one.IP, one.Hostname})
	}
	return sorted(found)
}

// settled reports whether a watch shows everything that is there.
func settled(status client.Status) bool { return status.State == dynamic.StateSynced }

// Ingresses are those whose load-balancer status is to be written; *ingress.Provider is one.
type Ingresses interface {
	// Claimed returns them; they are shared and are not changed.
	Claimed() iter.Seq[*networkingv1.Ingress]
	// OnClaimed sets a function that is called when Claimed may have changed.
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

// NewAddresses returns the addresses that the options configure for the status of Ingresses; nil if there are none. The
// watches of the published Service and of Nodes are registered with the cluster, whose Run feeds them. A
// publishedService that is not namespace/name is an error.
func NewAddresses(
	cluster *client.Cluster, ingresses Ingresses, config static.KubernetesIngress, logger telemetry.Logger,
) (*Addresses, error) {
	a := &Addresses{ingresses: ingresses}
	if config.IngressEndpoint != nil {
		a.endpoint = *config.IngressEndpoint
	}
	if name := a.endpoint.PublishedService; name != "" {
		var ok bool
		if a.namespace, a.service, ok = strings.Cut(name, "/"); !ok || a.namespace == "" || a.service == "" ||
			strings.Contains(a.service, "/") {
			return nil, fmt.Errorf("providers.kubernetesIngress.ingressEndpoint.publishedService: %q is not namespace/name",
				name)
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
		logger.Warn("providers.kubernetesIngress.reportNodeInternalIPs has no effect, since disableClusterScopeResources " +
			"keeps Nodes from being read")
	case config.ReportNodeInternalIPs:
		a.nodes = client.Watch(cluster, client.Nodes(), client.Scope{})
	}
	if a.endpoint == (static.IngressEndpoint{}) && a.nodes == nil {
		return nil, nil
	}
	return a, nil
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
