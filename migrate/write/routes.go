package write

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// route is a router that is written.
type route struct {
	name   string // without the provider's
	router *dynamic.Router
	rule   string
	// priority takes the place of the order that routers of providers have.
	priority         int
	namespace, owner string
	// reason says why it is closed; empty if it is not.
	reason      string
	middlewares []any
	service     map[string]any
	options     string
}

// http writes the routers, in the order in which one is preferred to another.
func (w *writer) http() {
	if w.configuration.HTTP == nil {
		return
	}
	routes := w.routes()
	for _, one := range routes {
		w.compile(one)
	}
	w.leaveClosed(routes)
	if w.format == Gateway {
		routes = w.gateway(routes)
	}
	w.ingressRoutes(routes)
}

// routes returns the routers, the least preferred one first, with ascending priorities.
func (w *writer) routes() []*route {
	var routes []*route
	for name, router := range w.configuration.HTTP.Routers.All() {
		if router == nil {
			continue
		}
		routes = append(routes, &route{name: plain(name), router: router, rule: router.RuleText()})
		one := routes[len(routes)-1]
		one.namespace, one.owner, _ = w.ownerOf(name)
	}
	slices.SortFunc(routes, func(a, b *route) int {
		return cmp.Or(
			cmp.Compare(a.router.Priority, b.router.Priority), comparePrecedence(a.router.Precedence, b.router.Precedence),
			b.router.Created.Compare(a.router.Created), strings.Compare(b.name, a.name),
		)
	})
	for i, one := range routes {
		one.priority = (i + 1) * 10
	}
	owners := w.ownersOfHosts(routes)
	return slices.DeleteFunc(routes, func(one *route) bool { return !w.settle(one, owners) })
}

// comparePrecedence compares keys, of which missing ones count as 0.
func comparePrecedence(a, b []int64) int {
	for i := range max(len(a), len(b)) {
		var left, right int64
		if i < len(a) {
			left = a[i]
		}
		if i < len(b) {
			right = b[i]
		}
		if left != right {
			return cmp.Compare(left, right)
		}
	}
	return 0
}

// anyHost stands for rules without a host.
const anyHost = "_"

// ownersOfHosts returns for each host the first route of an Ingress.
func (w *writer) ownersOfHosts(routes []*route) map[string]*route {
	owners := map[string]*route{}
	for _, one := range routes {
		hosts := hostsOf(one.rule)
		if len(hosts) == 0 && !strings.Contains(one.rule, "Host") {
			hosts = []string{anyHost}
		}
		for _, host := range hosts {
			if known := owners[host]; one.namespace != "" && (known == nil || one.name < known.name) {
				owners[host] = one
			}
		}
	}
	return owners
}

// settle gives a route of a host, which belongs to no Ingress, the namespace of the first Ingress with the host. Those
// of a host without one are not written.
func (w *writer) settle(one *route, owners map[string]*route) bool {
	if one.namespace != "" {
		return true
	}
	parts := strings.SplitN(one.name, ",", 3)
	host := anyHost
	if len(parts) > 1 && parts[0] == "server" {
		host = parts[1]
		if rest, wildcard := strings.CutPrefix(host, "_."); wildcard {
			host = "*." + rest
		}
	}
	owner := owners[host]
	if owner == nil {
		for _, host := range hostsOf(one.rule) {
			owner = cmp.Or(owner, owners[host])
		}
	}
	if owner == nil {
		w.leave("router %s belongs to no Ingress: requests for other hosts get the answers of Sluice", one.name)
		return false
	}
	one.namespace, one.owner = owner.namespace, "server-"+host
	return true
}

// leaveClosed notes the routes that answer 503. One for TLS is noted together with the same one without.
func (w *writer) leaveClosed(routes []*route) {
	const suffix = ",tls"
	reasons := map[string]string{}
	for _, one := range routes {
		reasons[one.name] = one.reason
	}
	for _, one := range routes {
		plain, tls := strings.CutSuffix(one.name, suffix)
		switch {
		case one.reason == "" || tls && reasons[plain] == one.reason:
		case reasons[one.name+suffix] == one.reason:
			w.leave("router %s (%s) answers 503, with TLS too: %s", one.name, one.rule, one.reason)
		default:
			w.leave("router %s (%s) answers 503: %s", one.name, one.rule, one.reason)
		}
	}
}

// compile writes what a route needs. A route of which something cannot be written is closed.
func (w *writer) compile(one *route) {
	one.reason = w.quarantined[dynamic.Ref{Kind: dynamic.KindRouter, Name: one.name}]
	if one.reason == "" {
		one.middlewares, one.reason = w.middlewareRefs(one.namespace, one.router.Middlewares)
	}
	if one.reason == "" {
		one.service, one.reason = w.fromRoute(one.namespace, one.router.Service)
	}
	if tls := one.router.TLS; tls != nil && tls.Options != "" {
		own, reason := w.tlsOptions(one.namespace, tls.Options)
		one.options, one.reason = own, cmp.Or(one.reason, reason)
	}
	if one.reason == "" {
		return
	}
	w.put("TraefikService", one.namespace, closed, map[string]any{"directResponse": map[string]any{"status": 503}})
	one.middlewares, one.service = nil, map[string]any{"kind": "TraefikService", "name": closed}
}

// ingressRoutes writes routes into an IngressRoute for each Ingress and each way to use TLS.
func (w *writer) ingressRoutes(routes []*route) {
	type group struct{ namespace, owner, tls, options, secret, entryPoints string }
	groups := map[group][]*route{}
	var order []group
	slices.SortFunc(routes, func(a, b *route) int { return strings.Compare(a.name, b.name) })
	for _, one := range routes {
		at := group{
			namespace: one.namespace, owner: one.owner, options: one.options,
			entryPoints: strings.Join(one.router.EntryPoints, ","),
		}
		if one.router.TLS != nil {
			at.tls, at.secret = "-tls", w.certificate(one.namespace, one.rule)
		}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], one)
	}
	for _, at := range order {
		spec := map[string]any{}
		if at.entryPoints != "" {
			spec["entryPoints"] = strings.Split(at.entryPoints, ",")
		}
		if at.tls != "" {
			tls := map[string]any{}
			if at.secret != "" {
				tls["secretName"] = at.secret
			}
			if at.options != "" {
				tls["options"] = map[string]any{"name": at.options}
			}
			spec["tls"] = tls
		}
		w.ingressRoute(at.namespace, at.owner+at.tls, spec, groups[at])
	}
}

// ingressRoute writes routes into one IngressRoute with a name that is free. Two of them cannot have the same rule in
// one.
func (w *writer) ingressRoute(namespace, name string, common map[string]any, routes []*route) {
	own := kubeName(name)
	for i := 2; w.objects[key{"IngressRoute", namespace, own}] != nil; i++ {
		own = fmt.Sprintf("%s-%d", kubeName(name), i)
	}
	spec := map[string]any{}
	for option, value := range common {
		spec[option] = value
	}
	made := w.put("IngressRoute", namespace, own, spec)
	var list []any
	var again []*route
	seen := map[string]bool{}
	for _, one := range routes {
		if seen[one.rule] {
			again = append(again, one)
			continue
		}
		seen[one.rule] = true
		list = append(list, one.manifest())
		if one.reason != "" {
			made.comments = append(made.comments, "Closed: "+one.rule+": "+one.reason)
		}
	}
	spec["routes"] = list
	if len(again) > 0 {
		w.ingressRoute(namespace, name, common, again)
	}
}

// observability is what a route of an IngressRoute has of it.
type observability struct {
	AccessLogs     *bool  `json:"accessLogs"`
	Metrics        *bool  `json:"metrics"`
	Tracing        *bool  `json:"tracing"`
	TraceVerbosity string `json:"traceVerbosity"`
}

// manifest returns a route of an IngressRoute.
func (r *route) manifest() map[string]any {
	out := map[string]any{
		"kind": "Rule", "match": r.rule, "priority": r.priority, "services": []any{r.service},
	}
	if r.middlewares != nil {
		out["middlewares"] = r.middlewares
	}
	if given := r.router.Observability; given != nil {
		made := encode(&observability{given.AccessLogs, given.Metrics, given.Tracing, given.TraceVerbosity})
		if len(made) > 0 {
			out["observability"] = made
		}
	}
	return out
}
