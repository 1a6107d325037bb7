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

// entryPoint is an entrypoint as Traefik's API shows it: its options, without those that say nothing, and its name.
type entryPoint map[string]any

// entryPoints lists the entrypoints of a configuration in order of their names.
func entryPoints(config *static.Configuration) []entryPoint {
	list := make([]entryPoint, 0, len(config.EntryPoints))
	for _, name := range slices.Sorted(maps.Keys(config.EntryPoints)) {
		shown := entryPoint{}
		if options, ok := said(reflect.ValueOf(static.Redacted(config.EntryPoints[name]))).(map[string]any); ok {
			shown = options
		}
		shown["name"] = name
		list = append(list, shown)
	}
	return list
}

// said returns an option as it is written as JSON: sections as maps without the options that are off, empty or zero.
func said(value reflect.Value) any {
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
		return said(value.Elem())
	case reflect.Struct:
		section := map[string]any{}
		for field, inner := range value.Fields() {
			name := field.Tag.Get("json")
			if name == "" || inner.Kind() != reflect.Struct && inner.IsZero() || inner.Kind() == reflect.Slice &&
				inner.Len() == 0 {
				continue
			}
			section[name] = said(inner)
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

// version answers which Sluice this is.
func (h *handler) version(w http.ResponseWriter, _ *http.Request) {
	said := struct {
		Version            string
		Codename           string
		StartDate          time.Time `json:"startDate"`
		DisableDashboardAd bool      `json:"disableDashboardAd,omitempty"`
		DashboardName      string    `json:"dashboardName,omitempty"`
	}{Version: h.options.Version.Version, Codename: h.options.Version.Codename, StartDate: h.options.Version.Start}
	if config := h.options.Static.API; config != nil {
		said.DisableDashboardAd, said.DashboardName = config.DisableDashboardAd, config.DashboardName
	}
	h.write(w, http.StatusOK, said)
}

// protocol counts the objects of one protocol.
type protocol struct {
	Routers     *tally `json:"routers,omitempty"`
	Services    *tally `json:"services,omitempty"`
	Middlewares *tally `json:"middlewares,omitempty"`
}

// features says which means of seeing are switched on.
type features struct {
	Tracing   string `json:"tracing"`
	Metrics   string `json:"metrics"`
	AccessLog bool   `json:"accessLog"`
}

// overview answers how many objects there are and how many of them are not well.
func (h *handler) overview(w http.ResponseWriter, _ *http.Request) {
	v := h.view()
	h.write(w, http.StatusOK, struct {
		HTTP         protocol `json:"http"`
		TCP          protocol `json:"tcp"`
		UDP          protocol `json:"udp"`
		Certificates *tally   `json:"certificates"`
		Features     features `json:"features"`
		Providers    []string `json:"providers,omitempty"`
	}{
		HTTP: protocol{Routers: v.routers.tally(), Services: v.services.tally(), Middlewares: v.middlewares.tally()},
		TCP: protocol{
			Routers: v.tcpRouters.tally(), Services: v.tcpServices.tally(),
			Middlewares: v.tcpMiddlewares.tally(),
		},
		UDP:          protocol{Routers: v.udpRouters.tally(), Services: v.udpServices.tally()},
		Certificates: tallyCertificates(h.certificates()),
		Features:     featuresOf(h.options.Static),
		Providers:    configured(reflect.ValueOf(h.options.Static.Providers)),
	})
}

// featuresOf names the first sink of each kind that is configured.
func featuresOf(config *static.Configuration) features {
	found := features{AccessLog: config.AccessLog != nil}
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

// configured names the sections of a section that somebody has written, as Traefik names them: by the names of their
// fields.
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
