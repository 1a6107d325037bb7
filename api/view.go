package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
)

// Statuses of objects in Traefik's API.
const (
	statusEnabled  = "enabled"
	statusDisabled = "disabled"
	statusWarning  = "warning"
)

// The protocols of services, as Options.Servers has them.
const (
	protocolHTTP = "http"
	protocolTCP  = "tcp"
	protocolUDP  = "udp"
)

// object is the common part of all objects.
type object struct {
	name, provider, status string
	// errors are the reasons of its verdicts.
	errors []string
	// kind is Traefik's type of a service or middleware, in lower case.
	kind string
	// searchText is the text that a search is matched with, in lower case.
	searchText string
	// usedBy names the routers and services that refer to it, sorted.
	usedBy []string
}

// base returns the object itself; rows embed it.
func (o *object) base() *object { return o }

// routerRow is a router with its effective options. Service and middlewares are resolved names.
type routerRow struct {
	object
	router *dynamic.Router
	// rule is the text of the rule, also if it was declared as a tree.
	rule          string
	entryPoints   []string
	using         []string
	priority      int
	service       string
	middlewares   []string
	ruleSyntax    string
	observability *dynamic.RouterObservability
}

// serviceRow is a service; the type of an internal one is empty.
type serviceRow struct {
	object
	service *dynamic.Service
}

type middlewareRow struct {
	object
	middleware *dynamic.Middleware
}

// view is a state with the sort order and cross-references of the API. It is immutable.
type view struct {
	configuration *dynamic.Configuration
	verdicts      []dynamic.Verdict

	routers     table[*routerRow]
	services    table[*serviceRow]
	middlewares table[*middlewareRow]
	listeners   table[*listenerRow]

	layer4View
}

// shows reports whether the view is that of a state. Providers are not part of the view.
func (v *view) shows(state *pipeline.State) bool {
	return v.configuration == state.Configuration && len(v.verdicts) == len(state.Verdicts) &&
		(len(v.verdicts) == 0 || &v.verdicts[0] == &state.Verdicts[0])
}

// view returns the cached view of the current state, or makes it.
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

func newView(state *pipeline.State, config *static.Configuration) *view {
	configuration := cmp.Or(state.Configuration, &dynamic.Configuration{})
	http := cmp.Or(configuration.HTTP, &dynamic.HTTPConfiguration{})
	statuses := summarize(state.Verdicts)
	routers := slices.Sorted(http.Routers.Keys())
	users := httpUsers(http, routers)
	entryPoints := newListeners(config).with(declaredListeners(configuration), config, false)
	return &view{
		configuration: state.Configuration,
		verdicts:      state.Verdicts,
		routers:       routerRows(routers, http.Routers, statuses, entryPoints),
		services:      serviceRows(http.Services, config, statuses, users.ofServices),
		middlewares:   middlewareRows(http.Middlewares, statuses, users.ofMiddlewares),
		listeners:     listenerRows(configuration, statuses),
		layer4View:    newLayer4View(configuration, config, statuses),
	}
}

// objectStatus is the summary of an object's verdicts.
type objectStatus struct {
	status string
	errors []string
}

// summarize returns the status of each object with a negative verdict.
func summarize(verdicts []dynamic.Verdict) map[dynamic.Ref]objectStatus {
	statuses := make(map[dynamic.Ref]objectStatus, len(verdicts))
	for _, verdict := range verdicts {
		known := statuses[verdict.Ref]
		switch verdict.Status {
		case dynamic.Accepted:
			continue
		case dynamic.Quarantined:
			known.status = statusDisabled
		case dynamic.Degraded, dynamic.Retained:
			known.status = cmp.Or(known.status, statusWarning)
		}
		if !slices.Contains(known.errors, verdict.Reason) {
			known.errors = append(known.errors, verdict.Reason)
		}
		statuses[verdict.Ref] = known
	}
	return statuses
}

// newObject returns the row of an object. Search matches its name and also.
func newObject(kind dynamic.Kind, name string, statuses map[dynamic.Ref]objectStatus, also ...string) object {
	made := object{name: name, provider: providerOf(name), status: statusEnabled}
	if found, ok := statuses[dynamic.Ref{Kind: kind, Name: name}]; ok {
		made.status, made.errors = found.status, found.errors
	}
	for _, text := range also {
		name += "\n" + text
	}
	made.searchText = strings.ToLower(name)
	return made
}

// providerOf returns the part of a qualified name after the last @.
func providerOf(name string) string {
	return name[strings.LastIndexByte(name, '@')+1:]
}

// qualify returns the full name of a reference made by an object of a provider.
func qualify(name, provider string) string {
	if name == "" || strings.Contains(name, "@") {
		return name
	}
	return name + "@" + provider
}
