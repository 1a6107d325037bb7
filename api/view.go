package api

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
)

// The statuses of objects, as Traefik names them.
const (
	statusEnabled  = "enabled"
	statusDisabled = "disabled"
	statusWarning  = "warning"
)

// object is what the API says of every object, of whatever kind.
type object struct {
	name, provider, status string
	// errors are the reasons of its verdicts.
	errors []string
	// kind is the Traefik type of a service or a middleware, in lower case.
	kind string
	// haystack is where a search looks, in lower case.
	haystack string
	// usedBy names, in order, the routers and services that refer to it.
	usedBy []string
}

// base returns the object itself; rows embed it.
func (o *object) base() *object { return o }

// routerRow is a router with its effective options. Service and middlewares are qualified names.
type routerRow struct {
	object
	router *dynamic.Router
	// rule is the text of the rule, also where the router has a tree.
	rule          string
	entryPoints   []string
	using         []string
	priority      int
	service       string
	middlewares   []string
	ruleSyntax    string
	observability *dynamic.RouterObservability
}

// serviceRow is a service. Those that Sluice itself answers have none of the kinds.
type serviceRow struct {
	object
	service *dynamic.Service
}

// middlewareRow is a middleware.
type middlewareRow struct {
	object
	middleware *dynamic.Middleware
}

// view is a state in the order and with the cross-references of the API. It is immutable, and holds nothing that is not
// in the state but names.
type view struct {
	configuration *dynamic.Configuration
	verdicts      []dynamic.Verdict

	routers     table[*routerRow]
	services    table[*serviceRow]
	middlewares table[*middlewareRow]

	tcpRouters, tcpServices, tcpMiddlewares, udpRouters, udpServices table[*object]
}

// shows tells whether the view is that of a state. A state in which only a provider has moved shows the same.
func (v *view) shows(state *pipeline.State) bool {
	return v.configuration == state.Configuration && len(v.verdicts) == len(state.Verdicts) &&
		(len(v.verdicts) == 0 || &v.verdicts[0] == &state.Verdicts[0])
}

// view returns the view of the state that serves, and makes it when nobody has asked for it before.
func (h *handler) view() *view {
	state := h.options.State.State()
	if state == nil {
		state = &pipeline.State{}
	}
	if known := h.latest.Load(); known != nil && known.shows(state) {
		return known
	}
	made := newView(state, h.options.Static)
	h.latest.Store(made)
	return made
}

// newView makes the view of a state.
func newView(state *pipeline.State, config *static.Configuration) *view {
	configuration := cmp.Or(state.Configuration, &dynamic.Configuration{})
	http := cmp.Or(configuration.HTTP, &dynamic.HTTPConfiguration{})
	tcp := cmp.Or(configuration.TCP, &dynamic.TCPConfiguration{})
	udp := cmp.Or(configuration.UDP, &dynamic.UDPConfiguration{})
	judged := judge(state.Verdicts)
	routers, services := slices.Sorted(maps.Keys(http.Routers)), slices.Sorted(maps.Keys(http.Services))
	users := references(http, routers, services)
	return &view{
		configuration: state.Configuration,
		verdicts:      state.Verdicts,
		routers:       routerRows(routers, http.Routers, judged, newListeners(config)),
		services:      serviceRows(http.Services, config, judged, users.ofServices),
		middlewares:   middlewareRows(http.Middlewares, judged, users.ofMiddlewares),

		tcpRouters:     unsupportedRows(dynamic.KindTCPRouter, tcp.Routers, judged),
		tcpServices:    unsupportedRows(dynamic.KindTCPService, tcp.Services, judged),
		tcpMiddlewares: unsupportedRows(dynamic.KindTCPMiddleware, tcp.Middlewares, judged),
		udpRouters:     unsupportedRows(dynamic.KindUDPRouter, udp.Routers, judged),
		udpServices:    unsupportedRows(dynamic.KindUDPService, udp.Services, judged),
	}
}

// judgement is what became of an object.
type judgement struct {
	status string
	errors []string
}

// judge sums up the verdicts on each object.
func judge(verdicts []dynamic.Verdict) map[dynamic.Ref]judgement {
	judged := make(map[dynamic.Ref]judgement, len(verdicts))
	for _, verdict := range verdicts {
		known := judged[verdict.Ref]
		switch verdict.Status {
		case dynamic.Accepted:
			continue
		case dynamic.Quarantined:
			known.status = statusDisabled
		case dynamic.Degraded:
			known.status = cmp.Or(known.status, statusWarning)
		}
		if !slices.Contains(known.errors, verdict.Reason) {
			known.errors = append(known.errors, verdict.Reason)
		}
		judged[verdict.Ref] = known
	}
	return judged
}

// newObject begins the row of an object. A search finds it by its name and by what else is given.
func newObject(kind dynamic.Kind, name string, judged map[dynamic.Ref]judgement, also ...string) object {
	made := object{name: name, provider: providerOf(name), status: statusEnabled}
	if judgement, worse := judged[dynamic.Ref{Kind: kind, Name: name}]; worse {
		made.status, made.errors = judgement.status, judgement.errors
	}
	for _, text := range also {
		name += "\n" + text
	}
	made.haystack = strings.ToLower(name)
	return made
}

// unsupportedRows lists the objects of a kind that is not built yet, none of which serves.
func unsupportedRows(kind dynamic.Kind, declared map[string]*dynamic.Unsupported,
	judged map[dynamic.Ref]judgement,
) table[*object] {
	rows := make([]*object, 0, len(declared))
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		row := newObject(kind, name, judged)
		row.status = statusDisabled
		rows = append(rows, &row)
	}
	return newTable(rows)
}

// providerOf returns the part of a qualified name behind the last @.
func providerOf(name string) string {
	return name[strings.LastIndexByte(name, '@')+1:]
}

// qualify returns the name that a reference of an object of a provider leads to.
func qualify(name, provider string) string {
	if name == "" || strings.Contains(name, "@") {
		return name
	}
	return name + "@" + provider
}
