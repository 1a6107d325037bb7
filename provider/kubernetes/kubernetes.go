// Package kubernetes assembles the providers of a cluster: who connects, who watches, and who tells the cluster what
// became of its objects.
//
// In flow the static options providers.kubernetesCRD and providers.kubernetesIngress; out flow provider entries that share
// one connection, and one watch of each resource, for each cluster that the options name. Endpoints have a provider of their
// own, so that a pod that comes or goes never touches a configuration.
//
// The package never translates an object itself.
package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/endpoint"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingress"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// source is the first part of the keys of endpoint sets of the first cluster; a second cluster's has a number.
const source = "kubernetes"

// Options say what is read.
type Options struct {
	// CRD is providers.kubernetesCRD; nil means that no custom resources are read.
	CRD *static.KubernetesCRD
	// Ingress is providers.kubernetesIngress; nil means that no Ingresses are read.
	Ingress *static.KubernetesIngress
	// Counters may be nil.
	Counters translation.Counters
	// Logger is needed.
	Logger telemetry.Logger
}

// Clusters is everything that reads the clusters of one static configuration.
type Clusters struct {
	options  Options
	clusters map[client.Options]*cluster
	order    []*cluster
	entries  []provider.Entry
	custom   *crd.Provider
	ingress  *ingress.Provider
}

// cluster is one of them, and the namespaces whose endpoints somebody uses.
type cluster struct {
	*client.Cluster
	number     int
	namespaces []string
	everywhere bool
}

// New assembles the providers of the options, which may name none; nothing is asked of a cluster before Run. It fails when an option names no
// cluster, or something that cannot be read.
func New(options Options) (*Clusters, error) {
	all := &Clusters{options: options, clusters: map[client.Options]*cluster{}}
	if err := all.addCustom(); err != nil {
		return nil, fmt.Errorf("providers.kubernetesCRD: %w", err)
	}
	if err := all.addIngress(); err != nil {
		return nil, fmt.Errorf("providers.kubernetesIngress: %w", err)
	}
	for _, cluster := range all.order {
		all.addEndpoints(cluster)
	}
	if len(all.order) > 0 {
		client.LogThrough(options.Logger)
	}
	return all, nil
}

// Entries returns the providers, all of them required.
func (c *Clusters) Entries() []provider.Entry { return slices.Clone(c.entries) }

// Run feeds every watch until ctx ends.
func (c *Clusters) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, cluster := range c.order {
		running.Go(func() {
			if err := cluster.Run(ctx); err != nil {
				c.options.Logger.Error("cluster is not watched", "error", err)
			}
		})
	}
	running.Wait()
}

func (c *Clusters) addCustom() error {
	config := c.options.CRD
	if config == nil {
		return nil
	}
	where, err := c.connect(client.Options{
		Endpoint: config.Endpoint, Token: config.Token, CertAuthFilePath: config.CertAuthFilePath,
	}, config.Namespaces)
	if err != nil {
		return err
	}
	if c.custom, err = crd.New(*config, where.Cluster, c.options.Counters); err != nil {
		return err
	}
	c.entries = append(c.entries, provider.Entry{Name: crd.Name, Provider: c.custom, Required: true})
	return nil
}

func (c *Clusters) addIngress() error {
	config := c.options.Ingress
	if config == nil {
		return nil
	}
	where, err := c.connect(client.Options{
		Endpoint: config.Endpoint, Token: config.Token, CertAuthFilePath: config.CertAuthFilePath,
	}, config.Namespaces)
	if err != nil {
		return err
	}
	if c.ingress, err = ingress.New(where.Cluster, *config, c.options.Counters); err != nil {
		return err
	}
	c.entries = append(c.entries, provider.Entry{Name: ingress.Name, Provider: c.ingress, Required: true})
	return nil
}

// connect returns the cluster of the options, and notes whose namespaces are used there.
func (c *Clusters) connect(options client.Options, namespaces []string) (*cluster, error) {
	known := c.clusters[options]
	if known == nil {
		known = &cluster{number: len(c.order) + 1}
		var err error
		if known.Cluster, err = client.Connect(options, known.name(source), c.options.Logger, v1alpha1.AddToScheme); err != nil {
			return nil, err
		}
		c.clusters[options] = known
		c.order = append(c.order, known)
	}
	known.everywhere = known.everywhere || len(namespaces) == 0
	known.namespaces = append(known.namespaces, namespaces...)
	return known, nil
}

// name returns the name for the first cluster, and the name with the cluster's number for every other.
func (c *cluster) name(name string) string {
	if c.number == 1 {
		return name
	}
	return name + strconv.Itoa(c.number)
}

func (c *Clusters) addEndpoints(of *cluster) {
	scope := client.Scope{}
	if !of.everywhere {
		slices.Sort(of.namespaces)
		scope.Namespaces = slices.Compact(of.namespaces)
	}
	c.entries = append(c.entries, provider.Entry{
		Name: of.name(endpoint.Name), Provider: endpoint.New(of.Cluster, scope, c.options.Counters), Required: true,
	})
}
