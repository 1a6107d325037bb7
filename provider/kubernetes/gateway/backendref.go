package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// serviceRef returns the reference of a service.
func serviceRef(name string) dynamic.Ref { return dynamic.Ref{Kind: dynamic.KindService, Name: name} }

// failing declares the service that answers what has no valid backend, and returns its name.
func (d *routeDraft) failing() string {
	name := routeName(string(d.kind), d.NamespacedName) + ",error"
	d.result.Put(serviceRef(name), &dynamic.Service{DirectResponse: &dynamic.DirectResponse{Status: 500}})
	return name
}

// service declares what answers a rule, and returns its name. Client is the certificate for backends; nil for none.
func (r *ruleDraft) service(client *clientCertificate) string {
	var of types.NamespacedName
	suffix := ""
	if client != nil {
		of = client.gateway
		suffix = "," + of.Namespace + "_" + of.Name
	}
	if known, found := r.services[of]; found {
		return known
	}
	name := r.name + suffix
	var branches []dynamic.WeightedService
	for i := range r.spec.backends {
		ref := &r.spec.backends[i]
		service, ok := r.branch(fmt.Sprintf("%s,b%02d", name, i), ref, client)
		if !ok {
			service = r.failing()
		}
		if weight := int(valueOf(ref.Weight, 1)); weight > 0 {
			branches = append(branches, dynamic.WeightedService{Name: service, Weight: &weight})
		}
	}
	var answering string
	switch {
	case r.broken || len(branches) == 0:
		answering = r.failing()
	case len(branches) == 1:
		answering = r.mirrored(name+",mirror", branches[0].Name, r.spec.filters, nil, client)
	default:
		weighted := &dynamic.WeightedRoundRobin{Services: branches}
		if sticky := r.sticky(); sticky != nil {
			if weighted.Sticky = sticky; sticky.Cookie.Name != "" {
				sticky.Cookie.Name += "-service"
			}
		}
		r.result.Put(serviceRef(name), &dynamic.Service{Weighted: weighted})
		answering = r.mirrored(name+",mirror", name, r.spec.filters, nil, client)
	}
	r.services[of] = answering
	return answering
}

// branch declares one backend of a rule, with its own filters, and returns its name.
func (r *ruleDraft) branch(name string, ref *gatewayv1.HTTPBackendRef, client *clientCertificate) (string, bool) {
	var middlewares []string
	for i := range ref.Filters {
		filter := &ref.Filters[i]
		switch filter.Type {
		case gatewayv1.HTTPRouteFilterRequestHeaderModifier, gatewayv1.HTTPRouteFilterResponseHeaderModifier:
			middlewares = append(middlewares, r.filter(name, filter, i, nil, 0)...)
		case gatewayv1.HTTPRouteFilterURLRewrite:
			if len(r.spec.matches) == 1 || filter.URLRewrite == nil || filter.URLRewrite.Path == nil ||
				filter.URLRewrite.Path.Type == gatewayv1.FullPathHTTPPathModifier {
				middlewares = append(middlewares, r.filter(name, filter, i, nil, 0)...)
				continue
			}
			r.unresolved(gatewayv1.RouteConditionReason(gatewayv1.RouteReasonUnsupportedValue),
				"a prefix is replaced for one backend only where the rule has one match")
			return "", false
		case gatewayv1.HTTPRouteFilterRequestMirror:
		case gatewayv1.HTTPRouteFilterExternalAuth:
			ok, err := r.authorizes(filter.ExternalAuth)
			if err != nil {
				r.unresolved(gatewayv1.RouteReasonUnsupportedValue, "a backend: "+err.Error())
			}
			if !ok {
				return "", false
			}
			middlewares = append(middlewares, r.filter(name, filter, i, nil, 0)...)
		case gatewayv1.HTTPRouteFilterExtensionRef:
			if _, refused := r.middleware(filter.ExtensionRef); refused != nil {
				r.unresolved(gatewayv1.RouteConditionReason(refused.Reason), refused.Message)
				return "", false
			}
			middlewares = append(middlewares, r.filter(name, filter, i, nil, 0)...)
		default:
			r.unresolved(gatewayv1.RouteReasonUnsupportedValue, "filters of backends of the type "+string(filter.Type)+
				" are not supported")
			return "", false
		}
	}
	inner, outer := middlewares, []string(nil)
	if mirrors(ref.Filters) { // Copies are sent after the other filters, which may refuse the request.
		inner, outer = nil, middlewares
	}
	service, ok := r.unmirrored(name, ref, inner, client)
	if !ok {
		return "", false
	}
	return r.mirrored(name+",mirror", service, ref.Filters, outer, client), true
}

// mirrors reports whether one of the filters sends copies.
func mirrors(filters []gatewayv1.HTTPRouteFilter) bool {
	return slices.ContainsFunc(filters, func(filter gatewayv1.HTTPRouteFilter) bool {
		return filter.Type == gatewayv1.HTTPRouteFilterRequestMirror
	})
}

// unmirrored declares the service of a backend without its mirrors.
func (r *ruleDraft) unmirrored(
	name string, ref *gatewayv1.HTTPBackendRef, middlewares []string, client *clientCertificate,
) (string, bool) {
	if isExtension(string(valueOf(ref.Group, "")), string(valueOf(ref.Kind, "")), v1alpha1.KindTraefikService) {
		return r.traefikService(name, &ref.BackendObjectReference, middlewares)
	}
	balancer, own := r.balancer()
	options := backendOptions{balancer: balancer, middlewares: middlewares, client: client, grpc: r.spec.grpc}
	if own || len(middlewares) > 0 {
		options.name = name
	}
	return r.backend(&ref.BackendObjectReference, options)
}

// backendOptions say how a backend is declared.
type backendOptions struct {
	// name is that of its service; empty means one that all routes share.
	name        string
	balancer    *dynamic.ServersLoadBalancer
	middlewares []string
	client      *clientCertificate
	grpc        bool
}

// target is a port of a Service to which a route may lead.
type target struct {
	types.NamespacedName
	service *corev1.Service
	port    *corev1.ServicePort
}

// targetOf returns the name of what a reference leads to.
func (d *routeDraft) targetOf(ref *gatewayv1.BackendObjectReference) types.NamespacedName {
	return types.NamespacedName{
		Namespace: string(valueOf(ref.Namespace, gatewayv1.Namespace(d.Namespace))), Name: string(ref.Name),
	}
}

// resolve follows a reference to a backend; false when it cannot be followed, which is noted.
func (d *routeDraft) resolve(ref *gatewayv1.BackendObjectReference, protocol corev1.Protocol) (target, bool) {
	to := target{NamespacedName: d.targetOf(ref)}
	group, kind := string(valueOf(ref.Group, "")), string(valueOf(ref.Kind, backend.KindService))
	if group != "" && group != "core" || kind != backend.KindService {
		d.unresolved(gatewayv1.RouteReasonInvalidKind, "backends are Services, not objects of the kind "+kind)
		return to, false
	}
	if !d.p.granted(d.result, reference{string(d.kind), d.Namespace, "", backend.KindService, to.NamespacedName}) {
		d.unresolved(gatewayv1.RouteReasonRefNotPermitted,
			"no ReferenceGrant permits the reference to Service "+to.String())
		return to, false
	}
	d.result.AddNeed(backend.KindService, to.Namespace, to.Name)
	to.service = d.p.watches.Service(to.Namespace, to.Name)
	if to.service == nil {
		d.unresolved(gatewayv1.RouteReasonBackendNotFound, "Service "+to.String()+" does not exist")
		return to, false
	}
	if ref.Port != nil {
		for i := range to.service.Spec.Ports {
			port := &to.service.Spec.Ports[i]
			if port.Port == *ref.Port && (port.Protocol == protocol || port.Protocol == "" && protocol == corev1.ProtocolTCP) {
				to.port = port
			}
		}
	}
	if to.port == nil {
		d.unresolved(gatewayv1.RouteReasonBackendNotFound,
			"Service "+to.String()+" has no such port: "+strconv.Itoa(int(valueOf(ref.Port, 0))))
		return to, false
	}
	d.uses[to.NamespacedName] = struct{}{}
	return to, true
}

// schemeOf returns the scheme in which a port is spoken to; false when its protocol is not supported.
func schemeOf(port *corev1.ServicePort, grpc bool) (string, bool) {
	protocol := strings.ToLower(valueOf(port.AppProtocol, ""))
	switch protocol {
	case "kubernetes.io/h2c", "grpc":
		return "h2c", true
	case "https", "kubernetes.io/wss", "tls":
		return "https", true
	case "", "http", "tcp", "kubernetes.io/ws":
		if grpc && protocol == "" {
			return "h2c", true
		}
		return "http", true
	}
	return "http", !strings.HasPrefix(protocol, "kubernetes.io/")
}

// backend declares the service of a reference to a Service, and returns its name.
func (d *routeDraft) backend(ref *gatewayv1.BackendObjectReference, options backendOptions) (string, bool) {
	to, ok := d.resolve(ref, corev1.ProtocolTCP)
	if !ok {
		return "", false
	}
	scheme, ok := schemeOf(to.port, options.grpc)
	if !ok {
		d.unresolved(gatewayv1.RouteReasonUnsupportedProtocol, "Service "+to.String()+": the appProtocol "+
			*to.port.AppProtocol+" is not supported")
		return "", false
	}
	transport, secured, ok := d.transport(to, options.client)
	if !ok {
		return "", false // The policy has the reason.
	}
	if secured {
		scheme = "https"
	} else if scheme == "https" {
		transport = d.clientTransport(options.client)
	}
	name := options.name
	if name == "" {
		name = to.Namespace + "." + to.Name + "," + strconv.Itoa(int(to.port.Port)) + "," + scheme
		if transport != "" {
			name += "," + transport
		}
	}
	balancer := options.balancer
	if scheme == "https" && transport != "" {
		balancer.ServersTransport = transport
	}
	reference := backend.Reference{
		Namespace: to.Namespace, Name: to.Name, Port: intstr.FromInt32(to.port.Port), Scheme: scheme, Balancer: balancer,
	}
	backendOf := backend.Options{Source: d.p.source, NativeLBByDefault: d.p.options.NativeLBByDefault}
	made, problem := backend.LoadBalancer(reference, backendOf, &d.p.watches)
	if problem != nil {
		reason := gatewayv1.RouteReasonBackendNotFound
		if problem.Code == dynamic.CodeReferenceNotPermitted {
			reason = gatewayv1.RouteReasonRefNotPermitted
		}
		d.unresolved(reason, problem.Reason)
		return "", false
	}
	d.result.Put(serviceRef(name), &dynamic.Service{LoadBalancer: made, Middlewares: options.middlewares})
	backend.CheckUndivided(d.result, serviceRef(name), reference, backendOf, &d.p.watches, d.p.environments())
	return name, true
}

// balancer returns the options of a rule's load balancers; own says that they are not those of all rules.
func (r *ruleDraft) balancer() (balancer *dynamic.ServersLoadBalancer, own bool) {
	balancer = &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	balancer.Sticky = r.sticky()
	if given := r.spec.retry; given != nil {
		retry := &dynamic.ServerRetry{}
		retry.SetDefaults()
		attempts, unlimited := valueOf(given.Attempts, 1), -1
		retry.Attempts, retry.BudgetPercent, retry.SameServer = &attempts, &unlimited, true
		retry.InitialInterval = durationOf(given.Backoff)
		for _, code := range given.Codes {
			retry.Status = append(retry.Status, strconv.Itoa(int(code)))
		}
		if r.spec.timeouts != nil {
			retry.PerTryTimeout = durationOf(r.spec.timeouts.BackendRequest)
		}
		balancer.Retry = retry
	}
	return balancer, balancer.Sticky != nil || balancer.Retry != nil
}

// checkSession returns an error for sessions that cannot be kept: a client that changed its backend would lose what it
// has there.
func (r *rule) checkSession(index int) error {
	if r.session == nil ||
		valueOf(r.session.Type, gatewayv1.CookieBasedSessionPersistence) == gatewayv1.CookieBasedSessionPersistence {
		return nil
	}
	return fmt.Errorf("rule %d: sessionPersistence.type %s is not supported, only Cookie is", index, *r.session.Type)
}

// sticky returns what keeps clients of a rule on one backend; nil when nothing does.
func (r *ruleDraft) sticky() *dynamic.Sticky {
	session := r.spec.session
	if session == nil {
		return nil
	}
	cookie := &dynamic.Cookie{}
	cookie.SetDefaults()
	cookie.HTTPOnly, cookie.Name = true, valueOf(session.SessionName, "")
	if session.CookieConfig != nil && valueOf(session.CookieConfig.LifetimeType,
		gatewayv1.SessionCookieLifetimeType) == gatewayv1.PermanentCookieLifetimeType {
		cookie.MaxAge = int(durationOf(session.AbsoluteTimeout) / 1e9)
	}
	return &dynamic.Sticky{Cookie: cookie}
}

// mirrored declares the service that sends copies of requests, once the middlewares have passed them, as the filters
// say, and returns its name; without such filters and middlewares it is the service itself.
func (r *ruleDraft) mirrored(
	name, service string, filters []gatewayv1.HTTPRouteFilter, middlewares []string, client *clientCertificate,
) string {
	mirroring := &dynamic.Mirroring{Service: service}
	mirroring.SetDefaults()
	for i := range filters {
		given := filters[i].RequestMirror
		if filters[i].Type != gatewayv1.HTTPRouteFilterRequestMirror || given == nil {
			continue
		}
		balancer := &dynamic.ServersLoadBalancer{}
		balancer.SetDefaults()
		to, ok := r.backend(&given.BackendRef, backendOptions{balancer: balancer, client: client, grpc: r.spec.grpc})
		if !ok {
			continue
		}
		mirror := dynamic.MirrorService{Name: to, Percent: 100}
		switch {
		case given.Fraction != nil:
			mirror.Percent, mirror.Fraction = 0, &dynamic.Fraction{
				Numerator: int(given.Fraction.Numerator), Denominator: int(valueOf(given.Fraction.Denominator, 100)),
			}
		case given.Percent != nil:
			mirror.Percent = int(*given.Percent)
		}
		mirroring.Mirrors = append(mirroring.Mirrors, mirror)
	}
	if len(mirroring.Mirrors)+len(middlewares) == 0 {
		return service
	}
	r.result.Put(serviceRef(name), &dynamic.Service{Mirroring: mirroring, Middlewares: middlewares})
	return name
}
