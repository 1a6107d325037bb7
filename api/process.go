package api

import (
	"encoding"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// entryPoint is an entrypoint as Traefik's API shows it: its name and the options that are set.
type entryPoint map[string]any

// entryPoints lists the entrypoints of a configuration, sorted by name.
func entryPoints(config *static.Configuration) []entryPoint {
	list := make([]entryPoint, 0, len(config.EntryPoints))
	for _, name := range slices.Sorted(maps.Keys(config.EntryPoints)) {
		shown := entryPoint{}
		if options, ok := jsonValue(reflect.ValueOf(static.Redacted(config.EntryPoints[name]))).(map[string]any); ok {
			shown = options
		}
		shown["name"] = name
		list = append(list, shown)
	}
	return list
}

// jsonValue returns an option as a value for JSON: sections as maps without options that are off, empty or zero.
func jsonValue(value reflect.Value) any {
	if value.CanInterface() {
		if text, ok := value.Interface().(encoding.TextMarshaler); ok && value.Kind() != reflect.Pointer {
			return text
		}
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return jsonValue(value.Elem())
	case reflect.Struct:
		section := map[string]any{}
		for field, inner := range value.Fields() {
			name := field.Tag.Get("json")
			if name == "" || inner.Kind() != reflect.Struct && inner.IsZero() || inner.Kind() == reflect.Slice &&
				inner.Len() == 0 {
				continue
			}
			section[name] = jsonValue(inner)
		}
		return section
	}
	return value.Interface()
}

func (h *handler) listEntryPoints(w http.ResponseWriter, r *http.Request) {
	if query, ok := h.query(w, r); ok {
		answer(h, w, query, h.entryPoints, func(e entryPoint) any { return e })
	}
}

func (h *handler) showEntryPoint(w http.ResponseWriter, r *http.Request) {
	name, ok := h.id(w, r)
	if !ok {
		return
	}
	for _, shown := range h.entryPoints {
		if shown["name"] == name {
			h.write(w, http.StatusOK, shown)
			return
		}
	}
	h.write(w, http.StatusNotFound, Problem{Message: "entry point not found: " + name})
}

func (h *handler) version(w http.ResponseWriter, _ *http.Request) {
	shown := struct {
		Version            string
		Codename           string
		StartDate          time.Time `json:"startDate"`
		DisableDashboardAd bool      `json:"disableDashboardAd,omitempty"`
		DashboardName      string    `json:"dashboardName,omitempty"`
	}{Version: h.options.Version.Version, Codename: h.options.Version.Codename, StartDate: h.options.Version.Start}
	if config := h.options.Static.API; config != nil {
		shown.DisableDashboardAd, shown.DashboardName = config.DisableDashboardAd, config.DashboardName
	}
	h.write(w, http.StatusOK, shown)
}

// protocol counts the objects of one protocol.
type protocol struct {
	Routers     *statusCounts `json:"routers,omitempty"`
	Services    *statusCounts `json:"services,omitempty"`
	Middlewares *statusCounts `json:"middlewares,omitempty"`
}

// features names the configured tracing, metrics and access log, and reports whether xDS is served, pods are injected,
// an environment service or a listener is declared, and there are certificate resolvers.
type features struct {
	Tracing               string `json:"tracing"`
	Metrics               string `json:"metrics"`
	AccessLog             bool   `json:"accessLog"`
	XDS                   bool   `json:"xds,omitempty"`
	Injector              bool   `json:"injector,omitempty"`
	Environments          bool   `json:"environments,omitempty"`
	Listeners             bool   `json:"listeners,omitempty"`
	CertificatesResolvers bool   `json:"certificatesResolvers,omitempty"`
}

// overload is the state of the overload manager.
type overload struct {
	// Pressures are those of the monitors, from 0 to 1, and Active the names of the actions that are under way, sorted.
	Pressures map[string]float64 `json:"pressures"`
	Active    []string           `json:"active"`
}

// overload returns the state of the overload manager, or nil where nothing is measured.
func (h *handler) overload() *overload {
	if h.options.Overload == nil {
		return nil
	}
	state := h.options.Overload()
	if len(state.Pressures) == 0 {
		return nil
	}
	shown := &overload{Pressures: state.Pressures, Active: []string{}}
	for _, action := range slices.Sorted(maps.Keys(state.Active)) {
		if state.Active[action] {
			shown.Active = append(shown.Active, action)
		}
	}
	return shown
}

// overview returns the numbers of objects by status, and the state of the overload manager.
func (h *handler) overview(w http.ResponseWriter, _ *http.Request) {
	v := h.view()
	found := featuresOf(h.options.Static)
	found.Environments = slices.ContainsFunc(v.services.rows, func(r *serviceRow) bool {
		return r.service.Environment != nil
	})
	var listeners *statusCounts
	if found.Listeners = len(v.listeners.rows) > 0; found.Listeners {
		listeners = v.listeners.statusCounts()
	}
	h.write(w, http.StatusOK, struct {
		HTTP         protocol      `json:"http"`
		TCP          protocol      `json:"tcp"`
		UDP          protocol      `json:"udp"`
		Certificates *statusCounts `json:"certificates"`
		Listeners    *statusCounts `json:"listeners,omitempty"`
		Features     features      `json:"features"`
		Providers    []string      `json:"providers,omitempty"`
		Overload     *overload     `json:"overload,omitempty"`
	}{
		HTTP: protocol{
			Routers: v.routers.statusCounts(), Services: v.services.statusCounts(),
			Middlewares: v.middlewares.statusCounts(),
		},
		TCP: protocol{
			Routers:     v.tcpRouters.statusCounts(),
			Services:    v.tcpServices.statusCounts(),
			Middlewares: v.tcpMiddlewares.statusCounts(),
		},
		UDP: protocol{
			Routers:  v.udpRouters.statusCounts(),
			Services: v.udpServices.statusCounts(),
		},
		Certificates: countCertificates(h.certificates()),
		Listeners:    listeners,
		Features:     found,
		Providers:    configured(reflect.ValueOf(h.options.Static.Providers)),
		Overload:     h.overload(),
	})
}

// featuresOf names the first sink of each kind that is configured.
func featuresOf(config *static.Configuration) features {
	found := features{
		AccessLog: config.AccessLog != nil, XDS: config.XDS != nil, Injector: config.Injector != nil,
		CertificatesResolvers: len(config.CertificatesResolvers) > 0,
	}
	if config.Metrics != nil {
		found.Metrics = first(configured(reflect.ValueOf(*config.Metrics)))
	}
	if config.Tracing != nil {
		found.Tracing = first(configured(reflect.ValueOf(*config.Tracing)))
	}
	return found
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// configured names the fields of a section that are set.
func configured(section reflect.Value) []string {
	var names []string
	for field, value := range section.Fields() {
		switch {
		case value.Kind() == reflect.Pointer && !value.IsNil():
			names = append(names, field.Name)
		case value.Kind() == reflect.Map && strings.EqualFold(field.Name, "plugin"):
			for _, name := range slices.Sorted(maps.Keys(stringKeys(value))) {
				names = append(names, "plugin-"+name)
			}
		}
	}
	return names
}

func stringKeys(value reflect.Value) map[string]struct{} {
	keys := make(map[string]struct{}, value.Len())
	for _, key := range value.MapKeys() {
		keys[key.String()] = struct{}{}
	}
	return keys
}
