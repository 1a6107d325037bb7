package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/dns"
	"github.com/sluiceproxy/sluice/provider/docker"
	"github.com/sluiceproxy/sluice/provider/file"
	"github.com/sluiceproxy/sluice/provider/kubernetes"
	"github.com/sluiceproxy/sluice/provider/xds"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// dnsProvider is the name of the provider that resolves servers given by name.
const dnsProvider = "dns"

// sources are the providers that the static configuration names.
type sources struct {
	entries  []provider.Entry
	resolver *dns.Provider
	files    *file.Provider // nil without files
	clusters *kubernetes.Clusters
	xds      *xds.Provider // nil without the option
}

// newSources returns them; with inputs, containers and objects of a cluster come from there.
func newSources(
	loaded static.Loaded, given *inputs, state func() provider.State, metrics *metrics.Metrics, logs loggers,
) (*sources, error) {
	all := loaded.Configuration
	config := all.Providers
	s := &sources{resolver: dns.New(dnsProvider, dns.Options{
		Resolvers: config.DNS.Resolvers, MinTTL: time.Duration(config.DNS.MinTTL), MaxTTL: time.Duration(config.DNS.MaxTTL),
	}, logs.For(log.SubsystemDNS))}
	s.entries = []provider.Entry{
		{Name: pipeline.InternalProvider, Provider: fixed{pipeline.Internal(all)}, Required: true},
		{Name: dnsProvider, Provider: s.resolver},
	}
	var err error
	if config.File != nil {
		s.files, err = file.New(*config.File, logs.For(log.SubsystemFile), file.WithStaticFile(loaded.File),
			file.WithFiles(given.dynamic))
		if err != nil {
			return nil, fmt.Errorf("providers.file: %w", err)
		}
		s.entries = append(s.entries, provider.Entry{Name: file.Name, Provider: s.files, Required: true})
	}
	if config.Docker != nil {
		containers, err := docker.New(*config.Docker, logs.For(log.SubsystemDocker))
		if err != nil {
			return nil, err
		}
		if given.containers != nil {
			containers.Use(given.containers)
		}
		s.entries = append(s.entries, provider.Entry{Name: docker.Name, Provider: containers, Required: true})
	}
	if config.XDS != nil {
		s.xds, err = xds.New(*config.XDS, release().Version, metrics, logs.For(log.SubsystemXDSProvider))
		if err != nil {
			return nil, err
		}
		s.entries = append(s.entries, provider.Entry{Name: xds.Name, Provider: s.xds, Required: true, Immediate: true})
	}
	clusters := clustersOf(&config)
	clusters.RuleChecks, clusters.Manifests, clusters.State = ruleChecks{ruleSyntax(all)}, given.manifests, state
	clusters.EntryPoints = all.EntryPoints
	clusters.Metrics, clusters.Logger = metrics, logs.For(log.SubsystemKubernetes)
	if s.clusters, err = kubernetes.New(clusters); err != nil {
		return nil, err
	}
	s.entries = append(s.entries, s.clusters.Entries()...)
	return s, nil
}

// clustersOf returns the providers of clusters among all.
func clustersOf(config *static.Providers) kubernetes.Options {
	return kubernetes.Options{
		CRD: config.KubernetesCRD, Ingress: config.KubernetesIngress, IngressNGINX: config.KubernetesIngressNGINX,
		Gateway: config.KubernetesGateway,
	}
}

// reload reads the files again. The channel is closed when they have been read.
func (s *sources) reload(logger telemetry.Logger) <-chan struct{} {
	if s.files == nil {
		logger.Info("SIGHUP: there are no files to read again")
		read := make(chan struct{})
		close(read)
		return read
	}
	logger.Info("SIGHUP: files are read again")
	return s.files.Reload()
}

// fixed provides objects that are made once, from the static configuration.
type fixed struct{ configuration *dynamic.Configuration }

// Provide sends the objects and waits for ctx to end.
func (f fixed) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	select {
	case messages <- dynamic.Message{Provider: pipeline.InternalProvider, Configuration: f.configuration}:
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil
}

// ruleChecks are those of package router, with the usual syntax.
type ruleChecks struct{ usual string }

// CheckRule checks the rule of an HTTP router.
func (c ruleChecks) CheckRule(definition *dynamic.Router) error {
	return router.CheckRule(definition, c.usual)
}

// CheckTCPRule checks the rule of a TCP router.
func (ruleChecks) CheckTCPRule(definition *dynamic.TCPRouter) error {
	return router.CheckTCPRule(definition)
}
