package log

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/sluiceproxy/sluice/static"
)

// The subsystems that log, as log.levels and the field subsystem name them. A name includes all below it: provider
// includes provider.docker.
const (
	// SubsystemMain is for start, end, signals and memory.
	SubsystemMain = "main"
	// SubsystemEntrypoint is for listeners and connections.
	SubsystemEntrypoint = "entrypoint"
	// SubsystemRequests is for failed requests, summarized.
	SubsystemRequests = "requests"
	// SubsystemOverload is for actions against overload.
	SubsystemOverload = "overload"
	// SubsystemMiddleware is for middlewares.
	SubsystemMiddleware = "middleware"
	// SubsystemLoadBalancer is for endpoints, their health and ejections.
	SubsystemLoadBalancer = "loadbalancer"
	// SubsystemPipeline is for configurations that are applied, and what is refused.
	SubsystemPipeline = "pipeline"
	// SubsystemProvider is for what providers have in common.
	SubsystemProvider = "provider"
	// SubsystemFile is for the file provider.
	SubsystemFile = "provider.file"
	// SubsystemDocker is for the Docker provider.
	SubsystemDocker = "provider.docker"
	// SubsystemKubernetes is for all Kubernetes providers.
	SubsystemKubernetes = "provider.kubernetes"
	// SubsystemDNS is for the resolution of servers that are given by name.
	SubsystemDNS = "provider.dns"
	// SubsystemXDSProvider is for the xDS server as a source of configuration.
	SubsystemXDSProvider = "provider.xds"
	// SubsystemXDS is for the publication to xDS clients.
	SubsystemXDS = "xds"
	// SubsystemInjector is for the admission webhook that injects into pods.
	SubsystemInjector = "injector"
	// SubsystemCertificates is for the resolvers that obtain certificates.
	SubsystemCertificates = "certificates"
	// SubsystemAPI is for the API and the dashboard.
	SubsystemAPI = "api"
	// SubsystemTelemetry is for access log, metrics and traces themselves.
	SubsystemTelemetry = "telemetry"
	// SubsystemLibrary is for messages of libraries.
	SubsystemLibrary = "library"
)

// Subsystems returns the names of all subsystems.
func Subsystems() []string {
	return []string{
		SubsystemMain, SubsystemEntrypoint, SubsystemRequests, SubsystemOverload, SubsystemMiddleware,
		SubsystemLoadBalancer, SubsystemPipeline, SubsystemProvider, SubsystemFile, SubsystemDocker, SubsystemKubernetes,
		SubsystemDNS, SubsystemXDSProvider, SubsystemXDS, SubsystemInjector, SubsystemCertificates, SubsystemAPI,
		SubsystemTelemetry, SubsystemLibrary,
	}
}

// levels are the levels of log.level and log.levels.
type levels struct {
	all    logrus.Level
	single map[string]logrus.Level
}

// newLevels reads log.level and log.levels.
func newLevels(config static.Log) (levels, error) {
	all, err := parseLevel("log.level", config.Level)
	if err != nil {
		return levels{}, err
	}
	l := levels{all: all, single: map[string]logrus.Level{}}
	for _, name := range slices.Sorted(maps.Keys(config.Levels)) {
		if !slices.Contains(Subsystems(), strings.ToLower(name)) {
			return levels{}, fmt.Errorf("log.levels.%s: no such subsystem; there are %s", name,
				strings.Join(Subsystems(), ", "))
		}
		if l.single[strings.ToLower(name)], err = parseLevel("log.levels."+name, config.Levels[name]); err != nil {
			return levels{}, err
		}
	}
	return l, nil
}

// parseLevel reads the level of an option; empty is INFO.
func parseLevel(option, level string) (logrus.Level, error) {
	if level == "" {
		return logrus.InfoLevel, nil
	}
	parsed, err := logrus.ParseLevel(level)
	if err != nil {
		return 0, fmt.Errorf("%s %q: not one of DEBUG, INFO, WARN, ERROR, FATAL, PANIC, TRACE", option, level)
	}
	return parsed, nil
}

// of returns the level of a subsystem: its own, else that of the nearest one above it, else that of all.
func (l levels) of(subsystem string) logrus.Level {
	for name := strings.ToLower(subsystem); name != ""; {
		if level, ok := l.single[name]; ok {
			return level
		}
		end := strings.LastIndexByte(name, '.')
		name = name[:max(end, 0)]
	}
	return l.all
}
