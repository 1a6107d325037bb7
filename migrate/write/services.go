package write

import (
	"iter"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
)

// children are the options with which other services refer to a port of a Service: the objects of all of them have one
// name in Sluice, so that they must be the same.
type children struct {
	balancer    *dynamic.ServersLoadBalancer
	middlewares []string
}

// declaredName returns the name with which an object is declared, which may have that of the provider.
func (w *writer) declaredName(name string, names iter.Seq[string]) string {
	name = plain(name)
	found := name
	for other := range names {
		if other == name {
			return name
		}
		if plain(other) == name {
			found = other
		}
	}
	return found
}

func (w *writer) service(name string) *dynamic.Service {
	services := w.configuration.HTTP.Services
	if found := services.Get(plain(name)); found != nil {
		return found
	}
	return services.Get(w.declaredName(name, services.Keys()))
}

// reference writes what a service needs, and returns a reference to it from another service or a middleware.
func (w *writer) reference(namespace, name string) (to map[string]any, reason string) {
	service, middlewares := w.unwrapped(name)
	if service == nil || service.LoadBalancer == nil {
		return w.fromRoute(namespace, name)
	}
	port, ok := serviceOf(w.innermost(name))
	if ok {
		known, given := w.children[port]
		if given && (!dynamic.Equal(known.balancer, service.LoadBalancer) || !slices.Equal(known.middlewares, middlewares)) {
			return nil, "service " + plain(name) + ": the Service " + port.namespace + "/" + port.service +
				" is used with other options elsewhere"
		}
		w.children[port] = children{service.LoadBalancer, middlewares}
	}
	return w.fromRoute(namespace, name)
}

// unwrapped follows services that put middlewares before one other service.
func (w *writer) unwrapped(name string) (service *dynamic.Service, middlewares []string) {
	for range 8 {
		if service = w.service(name); service == nil {
			return nil, nil
		}
		middlewares = append(middlewares, service.Middlewares...)
		one := service.Weighted
		if one == nil || len(one.Services) != 1 || one.Sticky != nil {
			return service, middlewares
		}
		name = one.Services[0].Name
	}
	return nil, nil
}

// innermost returns the name of the service that unwrapped returns.
func (w *writer) innermost(name string) string {
	for range 8 {
		service := w.service(name)
		if service == nil || service.Weighted == nil || len(service.Weighted.Services) != 1 {
			break
		}
		name = service.Weighted.Services[0].Name
	}
	return name
}

// fromRoute is as reference, for a route.
func (w *writer) fromRoute(namespace, name string) (to map[string]any, reason string) {
	at := key{"TraefikService", namespace, plain(name)}
	if known, done := w.services[at]; done {
		return known.spec, known.reason
	}
	w.services[at] = written{reason: "service " + plain(name) + " refers to itself"}
	to, reason = w.made(namespace, name)
	if reason != "" && reason[:min(len(reason), 8)] != "service " {
		reason = "service " + plain(name) + ": " + reason
	}
	w.services[at] = written{to, reason}
	return to, reason
}

func (w *writer) made(namespace, name string) (to map[string]any, reason string) {
	service, middlewares := w.unwrapped(name)
	if service == nil {
		return nil, "it is not declared"
	}
	if service.LoadBalancer != nil {
		return w.balancer(namespace, w.innermost(name), service.LoadBalancer, middlewares)
	}
	if len(middlewares) > 0 {
		return nil, "its middlewares have no place before a service of its kind"
	}
	spec := map[string]any{}
	switch {
	case service.DirectResponse != nil:
		spec["directResponse"] = encode(service.DirectResponse)
	case service.Canary != nil:
		spec["canary"], reason = w.pair(namespace, encode(service.Canary), map[string]string{
			"service": service.Canary.Service, "canary": service.Canary.Canary,
		})
	case service.Failover != nil:
		spec["failover"], reason = w.pair(namespace, encode(service.Failover), map[string]string{
			"service": service.Failover.Service, "fallback": service.Failover.Fallback,
		})
		if reason != "" {
			w.leave("service %s is written without its fallback: %s", plain(name), reason)
			return w.fromRoute(namespace, service.Failover.Service)
		}
	case service.Mirroring != nil:
		return w.mirroring(namespace, name, service.Mirroring)
	default:
		return nil, "services of its kind are not written"
	}
	if reason != "" {
		return nil, reason
	}
	return w.traefikService(namespace, name, spec), ""
}

func (w *writer) traefikService(namespace, name string, spec map[string]any) map[string]any {
	own := kubeName(plain(name))
	w.put("TraefikService", namespace, own, spec)
	return map[string]any{"kind": "TraefikService", "name": own}
}

// pair writes the services that options refer to.
func (w *writer) pair(namespace string, options map[string]any, names map[string]string) (map[string]any, string) {
	for _, option := range []string{"service", "canary", "fallback"} {
		name, given := names[option]
		if !given {
			continue
		}
		to, reason := w.reference(namespace, name)
		if reason != "" {
			return nil, reason
		}
		options[option] = to
	}
	return options, ""
}

// mirroring writes a service with mirrors. A mirror that cannot be written is left out: its answers reach no client.
func (w *writer) mirroring(namespace, name string, given *dynamic.Mirroring) (map[string]any, string) {
	var mirrors []any
	for i := range given.Mirrors {
		mirror := &given.Mirrors[i]
		to, reason := w.reference(namespace, mirror.Name)
		if reason != "" {
			w.leave("service %s is written without its mirror: %s", plain(name), reason)
			continue
		}
		one := encode(mirror)
		for option, value := range to {
			one[option] = value
		}
		mirrors = append(mirrors, one)
	}
	if len(mirrors) == 0 {
		return w.fromRoute(namespace, given.Service)
	}
	to, reason := w.reference(namespace, given.Service)
	if reason != "" {
		return nil, reason
	}
	spec := encode(given)
	delete(spec, "service")
	for option, value := range to {
		spec[option] = value
	}
	spec["mirrors"] = mirrors
	return w.traefikService(namespace, name, map[string]any{"mirroring": spec}), ""
}

// balancer returns a reference to a Service with the options of its load balancer.
func (w *writer) balancer(
	namespace, name string, given *dynamic.ServersLoadBalancer, middlewares []string,
) (to map[string]any, reason string) {
	port, ok := serviceOf(name)
	if !ok {
		return nil, "its servers belong to no Service"
	}
	to = encode(given)
	delete(to, "servers")
	to["name"], to["port"] = port.service, any(port.port)
	if number, err := strconv.Atoi(port.port); err == nil {
		to["port"] = number
	}
	if given.EndpointSet == "" && len(given.Servers) > 0 {
		first, err := url.Parse(given.Servers[0].URL)
		if err != nil {
			return nil, "its servers have no URL"
		}
		if _, err := netip.ParseAddr(first.Hostname()); err == nil {
			to["nativeLB"] = true
		}
		to["scheme"] = first.Scheme
	}
	if given.Scheme != "" {
		to["scheme"] = given.Scheme
	}
	if port.namespace != namespace {
		to["namespace"] = port.namespace
		w.leave("the Service %s/%s is used in the namespace %s: that needs the option allowCrossNamespace",
			port.namespace, port.service, namespace)
	}
	if given.ServersTransport != "" {
		own, reason := w.transport(port.namespace, given.ServersTransport)
		if reason != "" {
			return nil, reason
		}
		to["serversTransport"] = own
	}
	refs, reason := w.middlewareRefs(port.namespace, middlewares)
	if refs != nil {
		to["middlewares"] = refs
	}
	return to, reason
}
