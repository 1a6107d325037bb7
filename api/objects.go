package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/redact"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// objectJSON is the common part of all objects in Traefik's API. In /api/rawdata the name is the key, so Name, Provider
// and Type are empty there.
type objectJSON struct {
	Errors   []string `json:"error,omitempty"`
	Status   string   `json:"status,omitempty"`
	UsedBy   []string `json:"usedBy,omitempty"`
	Name     string   `json:"name,omitempty"`
	Provider string   `json:"provider,omitempty"`
	Type     string   `json:"type,omitempty"`
}

// named returns the common part with the name.
func (o *object) named() objectJSON {
	common := o.unnamed()
	common.Name, common.Provider, common.Type = o.name, o.provider, o.kind
	return common
}

// unnamed returns the common part as in /api/rawdata.
func (o *object) unnamed() objectJSON {
	return objectJSON{Errors: o.errors, Status: o.status, UsedBy: o.usedBy}
}

// routerJSON is a router as Traefik's API shows it.
type routerJSON struct {
	*dynamic.Router
	objectJSON
	// Using holds the entrypoints that the router listens on.
	Using []string `json:"using,omitempty"`
	// Priority is the effective priority. PriorityStr repeats it for clients whose integers end at 2^53.
	Priority    int    `json:"priority,omitempty"`
	PriorityStr string `json:"priorityStr,omitempty"`
}

func (r *routerRow) show(common objectJSON) routerJSON {
	router := dynamic.Redacted(r.router)
	router.Rule, router.EntryPoints = r.rule, r.entryPoints
	router.Middlewares = r.middlewares
	router.RuleSyntax = r.ruleSyntax
	router.Observability = r.observability
	if router.TLS != nil {
		router.TLS.Options = cmp.Or(router.TLS.Options, dynamic.DefaultTLSName)
	}
	return routerJSON{
		Router: router, objectJSON: common, Using: r.using, Priority: r.priority,
		PriorityStr: strconv.Itoa(r.priority),
	}
}

// serviceJSON is a service as Traefik's API shows it.
type serviceJSON struct {
	*dynamic.Service
	objectJSON
	// ServerStatus is UP or DOWN for each server, by its URL.
	ServerStatus map[string]string `json:"serverStatus,omitempty"`
}

// servers returns the status of a service's servers by their redacted URLs, or addresses where they are not of HTTP.
func (h *handler) servers(protocol, name string) map[string]string {
	if h.options.Servers == nil {
		return nil
	}
	statuses := h.options.Servers(protocol, name)
	shown := make(map[string]string, len(statuses))
	for address, status := range statuses {
		shown[redact.URL(address)] = status
	}
	return shown
}

// showService shows a service. If its servers come from an endpoint set, the current ones are listed.
func (h *handler) showService(r *serviceRow, common objectJSON) serviceJSON {
	shown := serviceJSON{
		Service: dynamic.Redacted(r.service), objectJSON: common, ServerStatus: h.servers(protocolHTTP, r.name),
	}
	if balancer := shown.LoadBalancer; balancer != nil && len(balancer.Servers) == 0 {
		for _, address := range slices.Sorted(maps.Keys(shown.ServerStatus)) {
			balancer.Servers = append(balancer.Servers, dynamic.Server{URL: address})
		}
	}
	return shown
}

// countServers returns the number of the service's own servers.
func (h *handler) countServers(r *serviceRow) int {
	balancer := r.service.LoadBalancer
	switch {
	case balancer == nil:
		return 0
	case balancer.EndpointSet != "" && h.options.Servers != nil:
		return len(h.options.Servers(protocolHTTP, r.name))
	}
	return len(balancer.Servers)
}

// middlewareJSON is a middleware as Traefik's API shows it.
type middlewareJSON struct {
	*dynamic.Middleware
	objectJSON
}

func (m *middlewareRow) show(common objectJSON) middlewareJSON {
	return middlewareJSON{Middleware: dynamic.Redacted(m.middleware), objectJSON: common}
}

// mountObjects adds the paths of the dynamic configuration.
func (h *handler) mountObjects(root *mux.Router) {
	mount(h, root, "/api/http/routers", listing[*routerRow]{
		noun: "router", pick: func(v *view) table[*routerRow] { return v.routers }, keep: keepRouter, order: h.orderRouters,
		show: func(r *routerRow) any { return r.show(r.named()) },
	})
	mount(h, root, "/api/http/services", listing[*serviceRow]{
		noun: "service", pick: func(v *view) table[*serviceRow] { return v.services },
		order: h.orderServices,
		show:  func(r *serviceRow) any { return h.showService(r, r.named()) },
	})
	mount(h, root, "/api/http/middlewares", listing[*middlewareRow]{
		noun: "middleware", pick: func(v *view) table[*middlewareRow] { return v.middlewares },
		order: orderMiddlewares,
		show:  func(m *middlewareRow) any { return m.show(m.named()) },
	})
	mount(h, root, "/api/listeners", listing[*listenerRow]{
		noun: "listener", pick: func(v *view) table[*listenerRow] { return v.listeners }, order: orderListeners,
		show: h.showListener,
	})
	h.mountLayer4(root)
	Get(root, h.prefix+"/api/rawdata", h.rawData)
}

// orderRouters returns the comparison for a sort key of routers, or nil.
func (h *handler) orderRouters(by string) func(a, b *routerRow) int {
	switch by {
	case "priority":
		return func(a, b *routerRow) int { return cmp.Compare(a.priority, b.priority) }
	case "rule":
		return func(a, b *routerRow) int { return cmp.Compare(a.rule, b.rule) }
	case "service":
		return func(a, b *routerRow) int { return cmp.Compare(a.service, b.service) }
	case "entryPoints":
		return func(a, b *routerRow) int { return cmp.Compare(len(a.entryPoints), len(b.entryPoints)) }
	}
	return byRate[*routerRow](h.options.Rates, metrics.TrafficRouters, by)
}

// byRate returns the comparison by the current requests or errors per second, or nil.
func byRate[R row](rates func(metrics.TrafficKind) map[string]metrics.TrafficRate, kind metrics.TrafficKind,
	by string,
) func(a, b R) int {
	if rates == nil || by != "requests" && by != "errors" {
		return nil
	}
	known := rates(kind)
	return func(a, b R) int {
		x, y := known[a.base().name], known[b.base().name]
		if by == "errors" {
			return cmp.Compare(x.ServerErrors, y.ServerErrors)
		}
		return cmp.Compare(x.Requests, y.Requests)
	}
}

// orderServices returns the comparison for a sort key of services, or nil.
func (h *handler) orderServices(by string) func(a, b *serviceRow) int {
	switch by {
	case "type":
		return func(a, b *serviceRow) int { return cmp.Compare(a.kind, b.kind) }
	case "servers":
		counted := map[*serviceRow]int{}
		count := func(r *serviceRow) int {
			known, ok := counted[r]
			if !ok {
				known = h.countServers(r)
				counted[r] = known
			}
			return known
		}
		return func(a, b *serviceRow) int { return cmp.Compare(count(a), count(b)) }
	}
	return byRate[*serviceRow](h.options.Rates, metrics.TrafficServices, by)
}

// orderMiddlewares returns the comparison for a sort key of middlewares, or nil.
func orderMiddlewares(by string) func(a, b *middlewareRow) int {
	if by == "type" {
		return func(a, b *middlewareRow) int { return cmp.Compare(a.kind, b.kind) }
	}
	return nil
}

// keepRouter applies the filters serviceName and middlewareName. A name without @ is compared with the declared name, a
// qualified one with the resolved name.
func keepRouter(r *routerRow, query url.Values) bool {
	return refersTo(query.Get("serviceName"), r.service, r.router.Service) &&
		refersTo(query.Get("middlewareName"), append(slices.Clip(r.middlewares), r.router.Middlewares...)...)
}

// rawData returns the whole dynamic configuration with the status of each object.
func (h *handler) rawData(w http.ResponseWriter, _ *http.Request) {
	v := h.view()
	h.write(w, http.StatusOK, struct {
		Routers        map[string]routerJSON        `json:"routers,omitempty"`
		Middlewares    map[string]middlewareJSON    `json:"middlewares,omitempty"`
		Services       map[string]serviceJSON       `json:"services,omitempty"`
		TCPRouters     map[string]tcpRouterJSON     `json:"tcpRouters,omitempty"`
		TCPMiddlewares map[string]tcpMiddlewareJSON `json:"tcpMiddlewares,omitempty"`
		TCPServices    map[string]tcpServiceJSON    `json:"tcpServices,omitempty"`
		UDPRouters     map[string]udpRouterJSON     `json:"udpRouters,omitempty"`
		UDPServices    map[string]udpServiceJSON    `json:"udpServices,omitempty"`
	}{
		Routers:     all(v.routers, func(r *routerRow) routerJSON { return r.show(r.unnamed()) }),
		Middlewares: all(v.middlewares, func(m *middlewareRow) middlewareJSON { return m.show(m.unnamed()) }),
		Services:    all(v.services, func(s *serviceRow) serviceJSON { return h.showService(s, s.unnamed()) }),
		TCPRouters:  all(v.tcpRouters, func(r *tcpRouterRow) tcpRouterJSON { return r.show(r.unnamed()) }),
		TCPMiddlewares: all(v.tcpMiddlewares, func(m *definedRow[dynamic.TCPMiddleware]) tcpMiddlewareJSON {
			return showTCPMiddleware(m, m.unnamed())
		}),
		TCPServices: all(v.tcpServices, func(s *definedRow[dynamic.TCPService]) tcpServiceJSON {
			return h.showTCPService(s, s.unnamed())
		}),
		UDPRouters: all(v.udpRouters, func(r *udpRouterRow) udpRouterJSON { return r.show(r.unnamed()) }),
		UDPServices: all(v.udpServices, func(s *definedRow[dynamic.UDPService]) udpServiceJSON {
			return h.showUDPService(s, s.unnamed())
		}),
	})
}

func all[R row, J any](t table[R], show func(R) J) map[string]J {
	shown := make(map[string]J, len(t.rows))
	for _, row := range t.rows {
		shown[row.base().name] = show(row)
	}
	return shown
}

// verdicts returns a page of findings: every object that is not accepted. The filters are status (quarantined, retained
// or degraded; or as in Traefik disabled or warning), code, kind, provider, and search in name, reason and origin.
func (h *handler) verdicts(w http.ResponseWriter, r *http.Request) {
	query, ok := h.query(w, r)
	if !ok {
		return
	}
	statuses := []string{strings.ToLower(query.Get("status"))}
	switch statuses[0] {
	case dynamic.Quarantined.String(), dynamic.Retained.String(), dynamic.Degraded.String():
	case "":
		statuses = nil
	case statusDisabled:
		statuses = []string{dynamic.Quarantined.String()}
	case statusWarning:
		statuses = []string{dynamic.Retained.String(), dynamic.Degraded.String()}
	default:
		// An empty result for a misspelt status would look like a configuration without problems.
		h.write(w, http.StatusBadRequest, Problem{Message: fmt.Sprintf(
			"query: status %q is none of quarantined, disabled, retained, degraded, warning", query.Get("status"))})
		return
	}
	code, kind, provider := query.Get("code"), query.Get("kind"), query.Get("provider")
	search := strings.ToLower(query.Get("search"))
	findings := []Finding{}
	for _, verdict := range h.view().verdicts {
		finding := NewFinding(verdict)
		if (statuses == nil || slices.Contains(statuses, finding.Status)) &&
			(code == "" || strings.EqualFold(code, string(finding.Code))) &&
			(kind == "" || strings.EqualFold(kind, string(finding.Kind))) &&
			(provider == "" || provider == providerOf(finding.Name)) &&
			strings.Contains(strings.ToLower(finding.Name+"\n"+finding.Reason+"\n"+finding.Origin), search) {
			findings = append(findings, finding)
		}
	}
	answer(h, w, query, findings, func(f Finding) any { return f })
}
