// Package kubernetes assembles the providers of a cluster: the connection, the watches, and the reporter that writes
// Events and statuses.
//
// Input are the static options providers.kubernetesCRD, kubernetesIngress, kubernetesIngressNGINX and
// kubernetesGateway; output are provider entries that share one connection, and one watch of each resource, for each
// cluster that the options name. Endpoints have a provider of their own, so that a pod that comes or goes changes no
// configuration. The translation of objects is in the packages crd, ingress, ingressnginx and gateway.
package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/report"
	"github.com/sluiceproxy/sluice/provider/kubernetes/tokenreview"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options say what is read.
type Options struct {
	// CRD is providers.kubernetesCRD; nil means that no custom resources are read.
	CRD *static.KubernetesCRD
	// Ingress is providers.kubernetesIngress; nil means that no Ingresses are read.
	Ingress *static.KubernetesIngress
	// IngressNGINX is providers.kubernetesIngressNGINX; nil means that no Ingresses of ingress-nginx are read.
	IngressNGINX *static.KubernetesNGINX
	// EntryPoints are those of the static configuration, by name; IngressNGINX needs them.
	EntryPoints map[string]*static.EntryPoint
	// Gateway is providers.kubernetesGateway; nil means that the Gateway API is not read.
	Gateway *static.KubernetesGateway
	// Manifests answer in place of the cluster, if they are not nil.
	Manifests *manifest.Server
	// State returns the state of the active table; it is needed by Run, and called by several goroutines.
	State func() provider.State
	// RuleChecks validate rules for crd.New; nil checks none.
	RuleChecks crd.RuleChecks
	// Metrics and Logger are needed.
	Metrics Metrics
	Logger  telemetry.Logger
}

// Metrics counts what happens to the objects of clusters, and Events that were not written.
type Metrics interface {
	translation.Counters
	report.Metrics
}

// Clusters is everything that reads the clusters of one static configuration.
type Clusters struct {
	options  Options
	clusters map[client.Options]*cluster
	order    []*cluster
	entries  []provider.Entry
}

// New assembles the providers of the options, which may name none; no request is made before Run. It fails
// when an option names no cluster, or something that cannot be read.
func New(options Options) (*Clusters, error) {
	all := &Clusters{options: options, clusters: map[client.Options]*cluster{}}
	if _, named := options.Connection(); named {
		client.LogThrough(options.Logger)
	}
	if err := all.addCustom(); err != nil {
		return nil, fmt.Errorf("providers.kubernetesCRD: %w", err)
	}
	if err := all.addNGINX(); err != nil {
		return nil, fmt.Errorf("providers.kubernetesIngressNGINX: %w", err)
	}
	if err := all.addIngress(); err != nil {
		return nil, fmt.Errorf("providers.kubernetesIngress: %w", err)
	}
	if err := all.addGateway(); err != nil {
		return nil, fmt.Errorf("providers.kubernetesGateway: %w", err)
	}
	for _, cluster := range all.order {
		all.entries = append(all.entries, cluster.endpoints(options.Metrics))
		if err := cluster.addReporter(options); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// NewTokenReviewer returns what checks tokens for an audience with the API server that the options name, or that of the
// cluster that Sluice runs in. It makes no request.
func NewTokenReviewer(options Options, audience string) (*tokenreview.Reviewer, error) {
	at, _ := options.Connection()
	cluster, err := client.Connect(at, "tokens", options.Logger)
	if err != nil {
		return nil, err
	}
	return tokenreview.New(cluster, audience)
}

// Connection returns the connection of the first option that names a cluster; it is false when none does.
func (o *Options) Connection() (connection client.Options, named bool) {
	switch {
	case o.CRD != nil:
		return client.Options{
			Endpoint: o.CRD.Endpoint, Token: o.CRD.Token, CertAuthFilePath: o.CRD.CertAuthFilePath,
		}, true
	case o.Ingress != nil:
		return client.Options{
			Endpoint: o.Ingress.Endpoint, Token: o.Ingress.Token, CertAuthFilePath: o.Ingress.CertAuthFilePath,
		}, true
	case o.IngressNGINX != nil:
		return client.Options{
			Endpoint: o.IngressNGINX.Endpoint, Token: o.IngressNGINX.Token,
			CertAuthFilePath: o.IngressNGINX.CertAuthFilePath,
		}, true
	case o.Gateway != nil:
		return client.Options{
			Endpoint: o.Gateway.Endpoint, Token: o.Gateway.Token, CertAuthFilePath: o.Gateway.CertAuthFilePath,
		}, true
	}
	return client.Options{}, false
}

// Entries returns the providers, all of them required.
func (c *Clusters) Entries() []provider.Entry { return slices.Clone(c.entries) }

// Watch feeds every watch until ctx ends, and writes nothing to any cluster.
func (c *Clusters) Watch(ctx context.Context) {
	c.each(ctx, (*cluster).watch)
}

// Run runs every watch until ctx ends, and passes on what Report writes.
func (c *Clusters) Run(ctx context.Context) {
	c.each(ctx, func(one *cluster, ctx context.Context) error {
		var reporting sync.WaitGroup
		defer reporting.Wait()
		if one.gateways != nil {
			reporting.Go(func() { one.gateways.passStatuses(ctx) })
			reporting.Go(func() { one.gateways.followTable(ctx, c.options.State) })
		}
		return one.watch(ctx)
	})
}

// Report takes part in the elections of leaders until ctx ends, while Run runs. A leader reports to its cluster what
// became of its objects. The Lease is given back when ctx ends.
func (c *Clusters) Report(ctx context.Context) {
	var reporting sync.WaitGroup
	for _, one := range c.order {
		reporting.Go(func() {
			if err := one.reporter.Run(ctx); err != nil {
				c.options.Logger.Error("Events and statuses are not written to the cluster", "cluster", one.Source(), "error", err)
			}
		})
	}
	reporting.Wait()
}

func (c *Clusters) each(ctx context.Context, run func(*cluster, context.Context) error) {
	var running sync.WaitGroup
	for _, one := range c.order {
		running.Go(func() {
			if err := run(one, ctx); err != nil {
				c.options.Logger.Error("the cluster is not watched", "cluster", one.Source(), "error", err)
			}
		})
	}
	running.Wait()
}

// Publish passes verdicts to the clusters whose objects they are about. It does not wait.
func (c *Clusters) Publish(verdicts []dynamic.Verdict) {
	for _, one := range c.order {
		one.reporter.Publish(verdicts)
	}
}

func (c *Clusters) addCustom() error {
	config := c.options.CRD
	if config == nil {
		return nil
	}
	where, err := c.connect(c.from(client.Options{
		Endpoint: config.Endpoint, Token: config.Token, CertAuthFilePath: config.CertAuthFilePath,
	}), config.Namespaces)
	if err != nil {
		return err
	}
	where.custom, err = crd.New(*config, where.Cluster, where.environments, c.options.Metrics, c.options.RuleChecks)
	if err != nil {
		return err
	}
	where.readers = append(where.readers, crd.Name)
	c.entries = append(c.entries, provider.Entry{Name: crd.Name, Provider: where.custom, Required: true})
	return nil
}

// from returns the options of the connection: those of the cluster, unless there are manifests.
func (c *Clusters) from(options client.Options) client.Options {
	if c.options.Manifests != nil {
		return client.Options{Transport: c.options.Manifests}
	}
	return options
}

// connect returns the cluster of the options, and notes that the namespaces are used there.
func (c *Clusters) connect(options client.Options, namespaces []string) (*cluster, error) {
	known := c.clusters[options]
	if known == nil {
		var err error
		if known, err = connect(options, len(c.order)+1, c.options.Logger); err != nil {
			return nil, err
		}
		c.clusters[options] = known
		c.order = append(c.order, known)
	}
	known.use(namespaces)
	return known, nil
}
