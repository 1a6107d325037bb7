package write

import (
	"slices"
	"strings"
)

// gatewayName is the name of the Gateways, one for each namespace.
const gatewayName = "nginx"

// most filters of a rule of an HTTPRoute.
const mostFilters = 16

// gateway writes HTTPRoutes for the hosts that they can express, and returns the routes of the other ones.
//
// That are hosts with an exact name of which all routes are for all paths: HTTPRoutes compare paths as they are sent,
// so that an encoded slash would lead around the route of a path. The routers of HTTPRoutes also come after those of
// IngressRoutes, so that no route may be left that takes requests for the host, too.
func (w *writer) gateway(routes []*route) (others []*route) {
	hosts := map[string][]*route{}
	var wide []*route
	for _, one := range routes {
		host, exact := exactHost(one.rule)
		if !exact {
			wide = append(wide, one)
			continue
		}
		hosts[host] = append(hosts[host], one)
	}
	others = wide
	for _, host := range sortedKeys(hosts) {
		if reason := w.httpRoutes(host, hosts[host], wide); reason != "" {
			w.leave("host %s has IngressRoutes: %s", host, reason)
			others = append(others, hosts[host]...)
		}
	}
	return others
}

func sortedKeys[V any](of map[string]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// exactHost returns the host of a rule that is for one name alone.
func exactHost(rule string) (host string, exact bool) {
	hosts := hostsOf(rule)
	if len(hosts) != 1 || strings.Contains(hosts[0], "*") || !strings.HasPrefix(rule, "Host(`"+hosts[0]+"`)") {
		return "", false
	}
	return hosts[0], true
}

// httpRoutes writes the HTTPRoutes of a host, or returns why it cannot.
func (w *writer) httpRoutes(host string, routes, wide []*route) (reason string) {
	secrets := make([]string, len(routes))
	backends := make([]map[string]any, len(routes))
	for i, one := range routes {
		switch {
		case one.rule != "Host(`"+host+"`) && NormalizedPathPrefix(`/`)":
			return "its paths are compared in their normalised form"
		case one.reason != "":
			return "a route is closed"
		case one.options != "" || len(one.router.EntryPoints) > 0 || one.router.Observability != nil && one.observed():
			return "an HTTPRoute has no options for TLS, entrypoints and logs"
		case len(one.middlewares) > mostFilters:
			return "an HTTPRoute has at most 16 filters"
		case one.namespace != routes[0].namespace || len(routes) > 2:
			return "it has several paths or Ingresses"
		}
		if one.router.TLS != nil {
			if secrets[i] = w.certificate(one.namespace, one.rule); secrets[i] == "" {
				return "there is no certificate for it in its namespace"
			}
		}
		if backends[i], reason = w.backendRef(one); reason != "" {
			return reason
		}
	}
	for _, other := range wide {
		if takes(other.rule, host) {
			return "a route with a wildcard or without a host takes its requests, too"
		}
	}
	for i, one := range routes {
		w.httpRoute(host, one, secrets[i], backends[i])
	}
	return ""
}

// observed reports whether something is set about logs, metrics and traces.
func (r *route) observed() bool {
	given := r.router.Observability
	return given.AccessLogs != nil || given.Metrics != nil || given.Tracing != nil || given.TraceVerbosity != ""
}

// takes reports whether a rule that is not for one name may take requests for a host.
func takes(rule, host string) bool {
	hosts := hostsOf(rule)
	if len(hosts) != 1 || strings.Contains(rule, "HostRegexp(") || strings.Contains(rule, "HostSuffix(") {
		return true
	}
	suffix, wildcard := strings.CutPrefix(hosts[0], "*")
	return !wildcard || strings.HasSuffix(host, suffix)
}

// backendRef returns the backend of a rule. A TraefikService is one for it; a Service needs a TraefikService, which has
// the options of its load balancer.
func (w *writer) backendRef(one *route) (to map[string]any, reason string) {
	if one.service["kind"] != "TraefikService" {
		reference, reason := w.reference(one.namespace, one.router.Service)
		if reason != "" {
			return nil, reason
		}
		one.service = w.traefikService(one.namespace, one.router.Service, map[string]any{
			"weighted": map[string]any{"services": []any{reference}},
		})
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	return map[string]any{"group": group, "kind": "TraefikService", "name": one.service["name"]}, ""
}

// httpRoute writes an HTTPRoute and its listener.
func (w *writer) httpRoute(host string, one *route, secret string, backend map[string]any) {
	group, _, _ := strings.Cut(apiVersion, "/")
	listener := map[string]any{"name": "http", "protocol": "HTTP", "port": 80}
	name := one.owner + "-" + host
	if secret != "" {
		name += "-tls"
		listener = map[string]any{
			"name": kubeName(host), "protocol": "HTTPS", "port": 443, "hostname": host,
			"tls": map[string]any{"certificateRefs": []any{map[string]any{"name": secret}}},
		}
	}
	w.listener(one.namespace, listener)
	var filters []any
	for _, ref := range one.middlewares {
		filters = append(filters, map[string]any{"type": "ExtensionRef", "extensionRef": map[string]any{
			"group": group, "kind": "Middleware", "name": ref.(map[string]any)["name"],
		}})
	}
	rule := map[string]any{
		"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
		"backendRefs": []any{backend},
	}
	if filters != nil {
		rule["filters"] = filters
	}
	made := w.put("HTTPRoute", one.namespace, kubeName(name), map[string]any{
		"parentRefs": []any{map[string]any{"name": gatewayName, "sectionName": listener["name"]}},
		"hostnames":  []any{host}, "rules": []any{rule},
	})
	made.apiVersion = gatewayVersion
}

// gatewayVersion is the version of the Gateway API.
const gatewayVersion = "gateway.networking.k8s.io/v1"

// listener adds a listener to the Gateway of a namespace.
func (w *writer) listener(namespace string, listener map[string]any) {
	made := w.put("Gateway", namespace, gatewayName, map[string]any{"gatewayClassName": "sluice", "listeners": []any{}})
	made.apiVersion = gatewayVersion
	listeners := made.spec["listeners"].([]any)
	for _, other := range listeners {
		if other.(map[string]any)["name"] == listener["name"] {
			return
		}
	}
	made.spec["listeners"] = append(listeners, listener)
}
