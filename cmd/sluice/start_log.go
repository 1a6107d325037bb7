package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// logStart logs what starts: the version, the configuration file or where one was searched, the entrypoints with their
// addresses, and the providers.
func logStart(logger telemetry.Logger, loaded static.Loaded, environ []string) {
	file := loaded.File
	if file == "" {
		file = "none found in " + strings.Join(static.SearchFolders(environ), ", ")
	}
	config := loaded.Configuration
	var entrypoints []string
	for _, name := range slices.Sorted(maps.Keys(config.EntryPoints)) {
		entrypoints = append(entrypoints, name+" "+config.EntryPoints[name].Address)
	}
	logger.Info("Sluice starts", "version", release().Version, "configurationFile", file,
		"entryPoints", strings.Join(entrypoints, ", "), "providers", orNone(strings.Join(providersOf(config), ", ")))
}

// providersOf returns the names of the configured providers.
func providersOf(config *static.Configuration) []string {
	var names []string
	for _, provider := range []struct {
		name       string
		configured bool
	}{
		{"file", config.Providers.File != nil},
		{"docker", config.Providers.Docker != nil},
		{"kubernetescrd", config.Providers.KubernetesCRD != nil},
		{"kubernetes", config.Providers.KubernetesIngress != nil},
		{"kubernetesingressnginx", config.Providers.KubernetesIngressNGINX != nil},
		{"kubernetesgateway", config.Providers.KubernetesGateway != nil},
	} {
		if provider.configured {
			names = append(names, provider.name)
		}
	}
	return names
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// logServing logs how much the first table serves, once it is complete.
func (s *system) logServing(ctx context.Context) {
	select {
	case <-s.pipeline.FirstReady():
	case <-ctx.Done():
		return
	}
	routers, disabled := 0, 0
	for _, listing := range s.target.Table().Routes() {
		switch {
		case listing.Provider == pipeline.InternalProvider:
		case listing.Reason != "":
			disabled++
		default:
			routers++
		}
	}
	state := s.pipeline.State()
	s.logger.Info("serving", "routers", routers, "disabledRouters", disabled,
		"entryPoints", len(s.config.EntryPoints), "generation", state.Generation)
}
