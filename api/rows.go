package api

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
)

// serviceDashboard is the dashboard's service in Traefik's manifests.
const serviceDashboard = "dashboard@internal"

// Values of ruleSyntax for routers that declare none.
const (
	ruleSyntaxV3 = "v3"
	// ruleSyntaxDefault is Traefik's value for internal routers.
	ruleSyntaxDefault = "default"
)

// listeners holds the TCP entrypoints and the names of the default ones.
type listeners struct {
	known     map[string]*static.EntryPoint
	byDefault []string
	// ruleSyntax is the value for routers that declare none.
	ruleSyntax string
}

// newListeners reads the entrypoints of the static configuration. If none has asDefault, all but the internal one are
// default entrypoints.
func newListeners(config *static.Configuration) listeners {
	l := listeners{known: map[string]*static.EntryPoint{}, ruleSyntax: ruleSyntaxV3}
	if config.Core != nil {
		l.ruleSyntax = cmp.Or(config.Core.DefaultRuleSyntax, l.ruleSyntax)
	}
	explicit := false
	for name, entryPoint := range config.EntryPoints {
		if address, err := entryPoint.ListenAddress(); err == nil && address.Network == "tcp" {
			l.known[name] = entryPoint
		}
		explicit = explicit || entryPoint.AsDefault
	}
	for _, name := range slices.Sorted(maps.Keys(l.known)) {
		if config.EntryPoints[name].AsDefault || (!explicit && name != static.InternalEntryPoint) {
			l.byDefault = append(l.byDefault, name)
		}
	}
	return l
}

// using returns the existing ones of names, sorted.
func (l listeners) using(names []string) []string {
	var using []string
	for _, name := range names {
		if l.known[name] != nil {
			using = append(using, name)
		}
	}
	slices.Sort(using)
	return slices.Compact(using)
}

// observability returns what applies to a router: its own options, and those of its entrypoints where it has none. An
// option in which its entrypoints differ is left out. It returns nil for a router without entrypoints and options.
func (l listeners) observability(own *dynamic.RouterObservability, using []string) *dynamic.RouterObservability {
	if own == nil && len(using) == 0 {
		return nil
	}
	shown := dynamic.RouterObservability{}
	if own != nil {
		shown = *own
	}
	inherited := make([]static.EntryPointTelemetry, 0, len(using))
	for _, name := range using {
		inherited = append(inherited, l.known[name].Observability)
	}
	flag := func(own *bool, of func(static.EntryPointTelemetry) bool) *bool {
		if own != nil {
			return own
		}
		return common(inherited, of)
	}
	shown.AccessLogs = flag(shown.AccessLogs, func(e static.EntryPointTelemetry) bool { return e.AccessLogs })
	shown.Metrics = flag(shown.Metrics, func(e static.EntryPointTelemetry) bool { return e.Metrics })
	shown.Tracing = flag(shown.Tracing, func(e static.EntryPointTelemetry) bool { return e.Tracing })
	if shown.TraceVerbosity == "" {
		verbosity := common(inherited, func(e static.EntryPointTelemetry) string { return e.TraceVerbosity })
		if verbosity != nil {
			shown.TraceVerbosity = *verbosity
		}
	}
	return &shown
}

// common returns the value that all entrypoints have of an option, or nil.
func common[T comparable](entryPoints []static.EntryPointTelemetry, of func(static.EntryPointTelemetry) T) *T {
	if len(entryPoints) == 0 {
		return nil
	}
	value := of(entryPoints[0])
	for _, other := range entryPoints[1:] {
		if of(other) != value {
			return nil
		}
	}
	return &value
}

func routerRows(names []string, declared dynamic.Objects[dynamic.Router], statuses map[dynamic.Ref]objectStatus,
	entryPoints listeners,
) table[*routerRow] {
	rows := make([]*routerRow, 0, declared.Len())
	for _, name := range names {
		router := declared.Get(name)
		rule := router.RuleText()
		row := &routerRow{
			object:      newObject(dynamic.KindRouter, name, statuses, rule, router.Service),
			router:      router,
			rule:        rule,
			entryPoints: router.EntryPoints,
			priority:    cmp.Or(router.Priority, len(rule)),
		}
		if len(row.entryPoints) == 0 {
			row.entryPoints = entryPoints.byDefault
		}
		row.using = entryPoints.using(row.entryPoints)
		row.observability = entryPoints.observability(router.Observability, row.using)
		row.ruleSyntax = cmp.Or(router.RuleSyntax, entryPoints.ruleSyntax)
		if router.RuleSyntax == "" && row.provider == pipeline.InternalProvider {
			row.ruleSyntax = ruleSyntaxDefault
		}
		row.service = qualify(router.Service, row.provider)
		for _, middleware := range router.Middlewares {
			row.middlewares = append(row.middlewares, qualify(middleware, row.provider))
		}
		rows = append(rows, row)
	}
	return newTable(rows)
}

// serviceRows lists the declared and the internal services, sorted by name.
func serviceRows(
	declared dynamic.Objects[dynamic.Service], config *static.Configuration, statuses map[dynamic.Ref]objectStatus,
	usedBy map[string][]string,
) table[*serviceRow] {
	rows := make([]*serviceRow, 0, declared.Len()+5)
	add := func(name string, service *dynamic.Service) {
		row := &serviceRow{object: newObject(dynamic.KindService, name, statuses), service: service}
		row.kind, row.usedBy = kindOf(service), usedBy[name]
		rows = append(rows, row)
	}
	for name, service := range declared.All() {
		add(name, service)
	}
	for _, name := range ownServices(config) {
		if declared.Get(name) == nil {
			add(name, &dynamic.Service{})
		}
	}
	slices.SortFunc(rows, func(a, b *serviceRow) int { return cmp.Compare(a.name, b.name) })
	return newTable(rows)
}

// ownServices names the internal services that are configured.
func ownServices(config *static.Configuration) []string {
	own := []string{pipeline.ServiceNoop}
	if config.API != nil {
		own = append(own, pipeline.ServiceAPI)
		if config.API.Dashboard {
			own = append(own, serviceDashboard)
		}
		if config.API.Admin {
			own = append(own, pipeline.ServiceAdmin)
		}
	}
	if config.Ping != nil {
		own = append(own, pipeline.ServicePing)
	}
	if config.Metrics != nil && config.Metrics.Prometheus != nil {
		own = append(own, pipeline.ServicePrometheus)
	}
	return own
}

func middlewareRows(declared dynamic.Objects[dynamic.Middleware], statuses map[dynamic.Ref]objectStatus,
	usedBy map[string][]string,
) table[*middlewareRow] {
	rows := make([]*middlewareRow, 0, declared.Len())
	for _, name := range slices.Sorted(declared.Keys()) {
		middleware := declared.Get(name)
		row := &middlewareRow{object: newObject(dynamic.KindMiddleware, name, statuses), middleware: middleware}
		row.kind, row.usedBy = kindOf(middleware), usedBy[name]
		rows = append(rows, row)
	}
	return newTable(rows)
}

// kindOf returns the type of a service or middleware in lower case; for a plugin, its name.
func kindOf(object any) string {
	value := reflect.ValueOf(object).Elem()
	for field, inner := range value.Fields() {
		switch {
		case inner.Kind() == reflect.Pointer && !inner.IsNil():
			return strings.ToLower(field.Name)
		case inner.Kind() == reflect.Map && inner.Len() > 0:
			return inner.MapKeys()[0].String()
		}
	}
	return ""
}

// usage maps services and middlewares to the objects that refer to them.
type usage struct {
	// ofServices maps a service to its routers.
	ofServices map[string][]string
	// ofMiddlewares maps a middleware to its routers and services.
	ofMiddlewares map[string][]string
}

// note adds an object that refers to another one.
func (usage) note(of map[string][]string, reference, by string) {
	name := qualify(reference, providerOf(by))
	if known := of[name]; name != "" && (len(known) == 0 || known[len(known)-1] != by) {
		of[name] = append(known, by)
	}
}

// httpUsers collects the references of HTTP routers and services, sorted by name.
func httpUsers(http *dynamic.HTTPConfiguration, routers []string) usage {
	users := usage{ofServices: map[string][]string{}, ofMiddlewares: map[string][]string{}}
	for _, name := range routers {
		router := http.Routers.Get(name)
		users.note(users.ofServices, router.Service, name)
		for _, middleware := range router.Middlewares {
			users.note(users.ofMiddlewares, middleware, name)
		}
	}
	for _, name := range slices.Sorted(http.Services.Keys()) {
		for _, middleware := range http.Services.Get(name).Middlewares {
			users.note(users.ofMiddlewares, middleware, name)
		}
	}
	return users
}
