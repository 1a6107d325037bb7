package api

import (
	"cmp"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/static"
)

// tcpRouterRow is a TCP router with its effective options. Service and middlewares are resolved names.
type tcpRouterRow struct {
	object
	router      *dynamic.TCPRouter
	entryPoints []string
	using       []string
	priority    int
	service     string
	middlewares []string
}

// udpRouterRow is a UDP router with its effective options. The service is a resolved name.
type udpRouterRow struct {
	object
	router      *dynamic.UDPRouter
	entryPoints []string
	using       []string
	service     string
}

// definedRow is a service or middleware of TCP or UDP.
type definedRow[T any] struct {
	object
	definition *T
}

// layer4View is the part of a view for TCP and UDP.
type layer4View struct {
	tcpRouters     table[*tcpRouterRow]
	tcpServices    table[*definedRow[dynamic.TCPService]]
	tcpMiddlewares table[*definedRow[dynamic.TCPMiddleware]]
	udpRouters     table[*udpRouterRow]
	udpServices    table[*definedRow[dynamic.UDPService]]
}

func newLayer4View(
	configuration *dynamic.Configuration, config *static.Configuration, statuses map[dynamic.Ref]objectStatus,
) layer4View {
	overTCP := cmp.Or(configuration.TCP, &dynamic.TCPConfiguration{})
	overUDP := cmp.Or(configuration.UDP, &dynamic.UDPConfiguration{})
	streams := usersOf(func(yield func(name string, refers references) bool) {
		for name, router := range overTCP.Routers.All() {
			if !yield(name, references{router.Service, router.Middlewares}) {
				return
			}
		}
	})
	datagrams := usersOf(func(yield func(name string, refers references) bool) {
		for name, router := range overUDP.Routers.All() {
			if !yield(name, references{service: router.Service}) {
				return
			}
		}
	})
	declared := declaredListeners(configuration)
	return layer4View{
		tcpRouters: tcpRouterRows(
			overTCP.Routers, newListeners(config).with(declared, config, false), statuses),
		tcpServices:    definedRows(dynamic.KindTCPService, overTCP.Services, statuses, streams.ofServices),
		tcpMiddlewares: definedRows(dynamic.KindTCPMiddleware, overTCP.Middlewares, statuses, streams.ofMiddlewares),
		udpRouters: udpRouterRows(
			overUDP.Routers, newDatagramListeners(config).with(declared, config, true), statuses),
		udpServices: definedRows(dynamic.KindUDPService, overUDP.Services, statuses, datagrams.ofServices),
	}
}

// newDatagramListeners reads the UDP entrypoints of the static configuration, all of which are default ones.
func newDatagramListeners(config *static.Configuration) listeners {
	l := listeners{known: map[string]*static.EntryPoint{}}
	for name, entryPoint := range config.EntryPoints {
		if address, err := entryPoint.ListenAddress(); err == nil && address.Network == "udp" {
			l.known[name] = entryPoint
		}
	}
	l.byDefault = slices.Sorted(maps.Keys(l.known))
	return l
}

func tcpRouterRows(
	declared dynamic.Objects[dynamic.TCPRouter], entryPoints listeners, statuses map[dynamic.Ref]objectStatus,
) table[*tcpRouterRow] {
	rows := make([]*tcpRouterRow, 0, declared.Len())
	for _, name := range slices.Sorted(declared.Keys()) {
		router := declared.Get(name)
		row := &tcpRouterRow{
			object: newObject(dynamic.KindTCPRouter, name, statuses, router.Rule, router.Service),
			router: router, entryPoints: router.EntryPoints, priority: router.Priority,
		}
		if len(row.entryPoints) == 0 {
			row.entryPoints = entryPoints.byDefault
		}
		row.using = entryPoints.using(row.entryPoints)
		if parsed, err := rule.Parse(router.Rule); err == nil {
			if priority, err := tcp.Priority(router.Priority, parsed); err == nil {
				row.priority = priority
			}
		}
		row.service = qualify(router.Service, row.provider)
		for _, middleware := range router.Middlewares {
			row.middlewares = append(row.middlewares, qualify(middleware, row.provider))
		}
		rows = append(rows, row)
	}
	return newTable(rows)
}

func udpRouterRows(
	declared dynamic.Objects[dynamic.UDPRouter], entryPoints listeners, statuses map[dynamic.Ref]objectStatus,
) table[*udpRouterRow] {
	rows := make([]*udpRouterRow, 0, declared.Len())
	for _, name := range slices.Sorted(declared.Keys()) {
		router := declared.Get(name)
		row := &udpRouterRow{
			object: newObject(dynamic.KindUDPRouter, name, statuses, router.Service),
			router: router, entryPoints: router.EntryPoints,
		}
		if len(row.entryPoints) == 0 {
			row.entryPoints = entryPoints.byDefault
		}
		row.using = entryPoints.using(row.entryPoints)
		row.service = qualify(router.Service, row.provider)
		rows = append(rows, row)
	}
	return newTable(rows)
}

func definedRows[T any](
	kind dynamic.Kind, declared dynamic.Objects[T], statuses map[dynamic.Ref]objectStatus, usedBy map[string][]string,
) table[*definedRow[T]] {
	rows := make([]*definedRow[T], 0, declared.Len())
	for _, name := range slices.Sorted(declared.Keys()) {
		row := &definedRow[T]{object: newObject(kind, name, statuses), definition: declared.Get(name)}
		row.kind, row.usedBy = kindOf(row.definition), usedBy[name]
		rows = append(rows, row)
	}
	return newTable(rows)
}

// references are what a router refers to.
type references struct {
	service     string
	middlewares []string
}

// usersOf collects the references of routers, sorted by the names of the routers.
func usersOf(routers iter.Seq2[string, references]) usage {
	users := usage{ofServices: map[string][]string{}, ofMiddlewares: map[string][]string{}}
	for name, refers := range routers {
		users.note(users.ofServices, refers.service, name)
		for _, middleware := range refers.middlewares {
			users.note(users.ofMiddlewares, middleware, name)
		}
	}
	for _, of := range []map[string][]string{users.ofServices, users.ofMiddlewares} {
		for name, by := range of {
			slices.Sort(by)
			of[name] = slices.Compact(by)
		}
	}
	return users
}

// tcpRouterJSON is a TCP router as Traefik's API shows it.
type tcpRouterJSON struct {
	*dynamic.TCPRouter
	objectJSON
	// Using holds the entrypoints that the router listens on.
	Using []string `json:"using,omitempty"`
	// Priority is the effective priority, -1 for HostSNI(`*`) alone. PriorityStr repeats it as text.
	Priority    int    `json:"priority,omitempty"`
	PriorityStr string `json:"priorityStr,omitempty"`
}

func (r *tcpRouterRow) show(common objectJSON) tcpRouterJSON {
	router := dynamic.Redacted(r.router)
	router.EntryPoints, router.Middlewares = r.entryPoints, r.middlewares
	router.RuleSyntax = cmp.Or(router.RuleSyntax, ruleSyntaxV3)
	if router.TLS != nil && !router.TLS.Passthrough {
		router.TLS.Options = cmp.Or(router.TLS.Options, dynamic.DefaultTLSName)
	}
	return tcpRouterJSON{
		TCPRouter: router, objectJSON: common, Using: r.using, Priority: r.priority,
		PriorityStr: strconv.Itoa(r.priority),
	}
}

// udpRouterJSON is a UDP router as Traefik's API shows it.
type udpRouterJSON struct {
	*dynamic.UDPRouter
	objectJSON
	// Using holds the entrypoints that the router listens on.
	Using []string `json:"using,omitempty"`
}

func (r *udpRouterRow) show(common objectJSON) udpRouterJSON {
	router := dynamic.Redacted(r.router)
	router.EntryPoints = r.entryPoints
	return udpRouterJSON{UDPRouter: router, objectJSON: common, Using: r.using}
}

// tcpServiceJSON is a TCP service as Traefik's API shows it.
type tcpServiceJSON struct {
	*dynamic.TCPService
	objectJSON
	// ServerStatus is UP or DOWN for each server, by its address.
	ServerStatus map[string]string `json:"serverStatus,omitempty"`
}

// showTCPService shows a service. If its servers come from an endpoint set, the current ones are listed.
func (h *handler) showTCPService(r *definedRow[dynamic.TCPService], common objectJSON) tcpServiceJSON {
	shown := tcpServiceJSON{
		TCPService: dynamic.Redacted(r.definition), objectJSON: common,
		ServerStatus: h.servers(protocolTCP, r.name),
	}
	if balancer := shown.LoadBalancer; balancer != nil && len(balancer.Servers) == 0 {
		for _, address := range slices.Sorted(maps.Keys(shown.ServerStatus)) {
			balancer.Servers = append(balancer.Servers, dynamic.TCPServer{Address: address, TLS: balancer.TLS})
		}
	}
	return shown
}

// udpServiceJSON is a UDP service as Traefik's API shows it.
type udpServiceJSON struct {
	*dynamic.UDPService
	objectJSON
	// ServerStatus is UP or DOWN for each server, by its address.
	ServerStatus map[string]string `json:"serverStatus,omitempty"`
}

// showUDPService shows a service like showTCPService.
func (h *handler) showUDPService(r *definedRow[dynamic.UDPService], common objectJSON) udpServiceJSON {
	shown := udpServiceJSON{
		UDPService: dynamic.Redacted(r.definition), objectJSON: common,
		ServerStatus: h.servers(protocolUDP, r.name),
	}
	if balancer := shown.LoadBalancer; balancer != nil && len(balancer.Servers) == 0 {
		for _, address := range slices.Sorted(maps.Keys(shown.ServerStatus)) {
			balancer.Servers = append(balancer.Servers, dynamic.UDPServer{Address: address})
		}
	}
	return shown
}

// tcpMiddlewareJSON is a TCP middleware as Traefik's API shows it.
type tcpMiddlewareJSON struct {
	*dynamic.TCPMiddleware
	objectJSON
}

func showTCPMiddleware(r *definedRow[dynamic.TCPMiddleware], common objectJSON) tcpMiddlewareJSON {
	return tcpMiddlewareJSON{TCPMiddleware: dynamic.Redacted(r.definition), objectJSON: common}
}

// keepTCPRouter and keepUDPRouter apply the filters of keepRouter.
func keepTCPRouter(r *tcpRouterRow, query url.Values) bool {
	return refersTo(query.Get("serviceName"), r.service, r.router.Service) &&
		refersTo(query.Get("middlewareName"), append(slices.Clip(r.middlewares), r.router.Middlewares...)...)
}

func keepUDPRouter(r *udpRouterRow, query url.Values) bool {
	return refersTo(query.Get("serviceName"), r.service, r.router.Service)
}

// refersTo reports whether a name that is looked for is one of those given; the empty one always is.
func refersTo(name string, names ...string) bool { return name == "" || slices.Contains(names, name) }

// orderTCPRouters returns the comparison for a sort key of TCP routers, or nil.
func orderTCPRouters(by string) func(a, b *tcpRouterRow) int {
	switch by {
	case "priority":
		return func(a, b *tcpRouterRow) int { return cmp.Compare(a.priority, b.priority) }
	case "rule":
		return func(a, b *tcpRouterRow) int { return cmp.Compare(a.router.Rule, b.router.Rule) }
	case "service":
		return func(a, b *tcpRouterRow) int { return cmp.Compare(a.service, b.service) }
	case "entryPoints":
		return func(a, b *tcpRouterRow) int { return cmp.Compare(len(a.entryPoints), len(b.entryPoints)) }
	}
	return nil
}

// orderUDPRouters returns the comparison for a sort key of UDP routers, or nil.
func orderUDPRouters(by string) func(a, b *udpRouterRow) int {
	switch by {
	case "service":
		return func(a, b *udpRouterRow) int { return cmp.Compare(a.service, b.service) }
	case "entryPoints":
		return func(a, b *udpRouterRow) int { return cmp.Compare(len(a.entryPoints), len(b.entryPoints)) }
	}
	return nil
}

// orderDefined returns the comparison by type and by the number that count returns, or nil.
func orderDefined[T any](by string, count func(*definedRow[T]) int) func(a, b *definedRow[T]) int {
	switch {
	case by == "type":
		return func(a, b *definedRow[T]) int { return cmp.Compare(a.kind, b.kind) }
	case by == "servers" && count != nil:
		return func(a, b *definedRow[T]) int { return cmp.Compare(count(a), count(b)) }
	}
	return nil
}
