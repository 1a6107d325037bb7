package gateway

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// translateTLSRoute translates a TLSRoute: one router for each listener and precedence of hostnames.
func (p *Provider) translateTLSRoute(source translation.Source) (result translation.Result, ok bool) {
	route, found := p.watches.tlsRoutes.Get(source.Namespace, source.Name)
	if !found {
		p.dropRoute(kindTLSRoute, types.NamespacedName{Namespace: source.Namespace, Name: source.Name})
		return result, false
	}
	d := p.newRoute(&result, kindTLSRoute, route, route.Spec.ParentRefs, route.Spec.Hostnames)
	var refs []gatewayv1.BackendRef
	if len(route.Spec.Rules) > 0 {
		refs = route.Spec.Rules[0].BackendRefs
	}
	name := routeName(kindTLSRoute, d.NamespacedName)
	services := d.newStreamServices(name, refs)
	for _, to := range d.attachments() {
		service, groups := services.of(to), hostGroups(to.hostnames)
		for _, group := range groups {
			router := d.tcpRouter(to, service)
			router.Rule, router.Priority = sniRule(group), int(group.key)+1
			router.TLS = &dynamic.TCPRouterTLS{Passthrough: to.listener.passthrough}
			d.result.Put(dynamic.Ref{
				Kind: dynamic.KindTCPRouter, Name: name + "," + to.listener.key.object() + group.suffix(len(groups)),
			}, router)
		}
	}
	d.finish()
	return result, true
}

// sniRule returns the rule for hostnames of one precedence.
func sniRule(group hostGroup) string {
	if group.match == nil {
		return "HostSNI(`*`)"
	}
	var rules []string
	for _, match := range group.match.Any {
		if match.Name == "Host" {
			rules = append(rules, "HostSNI(`"+match.Args[0]+"`)")
		} else {
			rules = append(rules, "HostSNIRegexp(`^.+\\."+regexp.QuoteMeta(match.Args[0])+"$`)")
		}
	}
	return strings.Join(rules, " || ")
}

// tcpRouter returns a router of connections at a listener.
func (d *routeDraft) tcpRouter(to attachment, service string) *dynamic.TCPRouter {
	return &dynamic.TCPRouter{
		EntryPoints: []string{to.listener.key.qualified()}, Service: service, Created: d.created,
		Rule: "HostSNI(`*`)", Priority: routerPriority,
	}
}

// translateTCPRoute translates a TCPRoute. Of several at one listener, the oldest gets the connections.
func (p *Provider) translateTCPRoute(source translation.Source) (result translation.Result, ok bool) {
	route, found := p.watches.tcpRoutes.Get(source.Namespace, source.Name)
	if !found {
		p.dropRoute(kindTCPRoute, types.NamespacedName{Namespace: source.Namespace, Name: source.Name})
		return result, false
	}
	d := p.newRoute(&result, kindTCPRoute, route, route.Spec.ParentRefs, nil)
	var refs []gatewayv1.BackendRef
	if len(route.Spec.Rules) > 0 {
		refs = route.Spec.Rules[0].BackendRefs
	}
	name := routeName(kindTCPRoute, d.NamespacedName)
	services := d.newStreamServices(name, refs)
	for _, to := range d.attachments() {
		d.result.Put(dynamic.Ref{Kind: dynamic.KindTCPRouter, Name: name + "," + to.listener.key.object()},
			d.tcpRouter(to, services.of(to)))
	}
	d.finish()
	return result, true
}

// streamServices are the services of a route of connections. Where TLS is passed through, BackendTLSPolicies do not
// apply; elsewhere, the Gateway's certificate is presented to backends.
type streamServices struct {
	*routeDraft
	name string
	refs []gatewayv1.BackendRef
	made map[string]string
}

// newStreamServices returns the services of a route, of which the references are followed for its status.
func (d *routeDraft) newStreamServices(name string, refs []gatewayv1.BackendRef) *streamServices {
	objects := maps.Clone(d.result.Objects)
	d.tcpService(name, refs, false, nil)
	d.result.Objects = objects
	return &streamServices{d, name, refs, map[string]string{}}
}

// of declares the service for the connections of a listener, and returns its name.
func (s *streamServices) of(to attachment) string {
	suffix, client := "", to.view.client
	switch {
	case to.listener.passthrough:
		suffix, client = ",passthrough", nil
	case client != nil:
		suffix = "," + client.gateway.Namespace + "_" + client.gateway.Name
	}
	if known, found := s.made[suffix]; found {
		return known
	}
	s.made[suffix] = s.tcpService(s.name+suffix, s.refs, !to.listener.passthrough, client)
	return s.made[suffix]
}

// tcpService declares where connections go, with TLS where secure and policies say so, and returns the name. A backend
// that is not valid keeps its share, and its connections are closed.
func (d *routeDraft) tcpService(
	name string, refs []gatewayv1.BackendRef, secure bool, client *clientCertificate,
) string {
	var branches []dynamic.WeightedService
	for i := range refs {
		balancer := &dynamic.TCPServersLoadBalancer{}
		balancer.SetDefaults()
		if to, at, ok := d.stream(&refs[i].BackendObjectReference, corev1.ProtocolTCP); ok {
			transport, secured := "", false
			if secure {
				transport, secured, ok = d.streamTransport(at, client)
			}
			if balancer.ServersTransport, balancer.TLS = transport, secured; ok {
				balancer.EndpointSet = to.EndpointSet
			}
			for _, address := range to.Addresses {
				server := dynamic.TCPServer{Address: address, TLS: secured}
				if server.SetDefaults(); ok {
					balancer.Servers = append(balancer.Servers, server)
				}
			}
		}
		if branch, ok := branchOf(name, i, &refs[i]); ok {
			branches = append(branches, branch)
			d.result.Put(dynamic.Ref{Kind: dynamic.KindTCPService, Name: branch.Name},
				&dynamic.TCPService{LoadBalancer: balancer})
		}
	}
	none := &dynamic.TCPServersLoadBalancer{}
	none.SetDefaults()
	return d.combined(dynamic.Ref{Kind: dynamic.KindTCPService, Name: name}, branches,
		&dynamic.TCPService{LoadBalancer: none},
		&dynamic.TCPService{Weighted: &dynamic.TCPWeightedRoundRobin{Services: branches}})
}

// combined declares the service of several backends, weighted, or none if there are none, and returns its name. A
// single backend is a service by itself.
func (d *routeDraft) combined(ref dynamic.Ref, branches []dynamic.WeightedService, none, weighted any) string {
	switch len(branches) {
	case 0:
		d.result.Put(ref, none)
	case 1:
		return branches[0].Name
	default:
		d.result.Put(ref, weighted)
	}
	return ref.Name
}

// branchOf returns a backend as one of several; false for one without weight.
func branchOf(name string, index int, ref *gatewayv1.BackendRef) (dynamic.WeightedService, bool) {
	weight := int(valueOf(ref.Weight, 1))
	return dynamic.WeightedService{Name: fmt.Sprintf("%s,b%02d", name, index), Weight: &weight}, weight > 0
}

// stream follows a reference to a backend of connections or datagrams.
func (d *routeDraft) stream(
	ref *gatewayv1.BackendObjectReference, protocol corev1.Protocol,
) (backend.Target, target, bool) {
	to, ok := d.resolve(ref, protocol)
	if !ok {
		return backend.Target{}, to, false
	}
	made, problem := backend.Resolve(backend.Reference{
		Namespace: to.Namespace, Name: to.Name, Port: intstr.FromInt32(to.port.Port),
	}, protocol, backend.Options{Source: d.p.source, NativeLBByDefault: d.p.options.NativeLBByDefault}, &d.p.watches)
	if problem != nil {
		d.unresolved(gatewayv1.RouteReasonBackendNotFound, problem.Reason)
		return backend.Target{}, to, false
	}
	return made, to, true
}

// translateUDPRoute translates a UDPRoute. Of several at one listener, the oldest gets the datagrams.
func (p *Provider) translateUDPRoute(source translation.Source) (result translation.Result, ok bool) {
	name := types.NamespacedName{Namespace: source.Namespace, Name: source.Name}
	route, found := p.watches.udpRoutes.Get(source.Namespace, source.Name)
	if !found {
		p.contend(name, nil, nil)
		p.dropRoute(kindUDPRoute, name)
		return result, false
	}
	d := p.newRoute(&result, kindUDPRoute, route, route.Spec.ParentRefs, nil)
	var refs []gatewayv1.BackendRef
	if len(route.Spec.Rules) > 0 {
		refs = route.Spec.Rules[0].BackendRefs
	}
	object := routeName(kindUDPRoute, d.NamespacedName)
	service := d.udpService(object, refs)
	attachments := d.attachments()
	p.contend(name, d, attachments)
	for _, to := range attachments {
		d.result.Needs = append(d.result.Needs, contenders(to.listener.key))
		if p.firstAt(to.listener.key) != name {
			continue
		}
		d.result.Put(dynamic.Ref{Kind: dynamic.KindUDPRouter, Name: object + "," + to.listener.key.object()},
			&dynamic.UDPRouter{EntryPoints: []string{to.listener.key.qualified()}, Service: service})
	}
	d.finish()
	return result, true
}

// udpService declares where datagrams go, and returns the name. A backend that is not valid keeps its share.
func (d *routeDraft) udpService(name string, refs []gatewayv1.BackendRef) string {
	var branches []dynamic.WeightedService
	for i := range refs {
		balancer := &dynamic.UDPServersLoadBalancer{}
		balancer.SetDefaults()
		if to, _, ok := d.stream(&refs[i].BackendObjectReference, corev1.ProtocolUDP); ok {
			balancer.EndpointSet = to.EndpointSet
			for _, address := range to.Addresses {
				server := dynamic.UDPServer{Address: address}
				server.SetDefaults()
				balancer.Servers = append(balancer.Servers, server)
			}
		}
		if branch, ok := branchOf(name, i, &refs[i]); ok {
			branches = append(branches, branch)
			d.result.Put(dynamic.Ref{Kind: dynamic.KindUDPService, Name: branch.Name},
				&dynamic.UDPService{LoadBalancer: balancer})
		}
	}
	none := &dynamic.UDPServersLoadBalancer{}
	none.SetDefaults()
	return d.combined(dynamic.Ref{Kind: dynamic.KindUDPService, Name: name}, branches,
		&dynamic.UDPService{LoadBalancer: none},
		&dynamic.UDPService{Weighted: &dynamic.UDPWeightedRoundRobin{Services: branches}})
}
