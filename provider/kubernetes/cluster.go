package kubernetes

import (
	"context"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/endpoint"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingress"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx"
	"github.com/sluiceproxy/sluice/provider/kubernetes/report"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
	"github.com/sluiceproxy/sluice/telemetry"
)

// source is the first part of the keys of endpoint sets of the first cluster; a second cluster's has a number.
const source = "kubernetes"

// cluster is one cluster with all that reads it.
type cluster struct {
	*client.Cluster
	number int
	// named says that an option names the address of the API server.
	named bool
	// namespaces are those whose endpoints are used, unless everywhere says that these are all.
	namespaces []string
	everywhere bool

	// readers are the names of the providers that read its objects. Custom, ingresses, nginx and gateways are nil where
	// what they read is not configured; addresses are empty where the status of Ingresses is left alone.
	readers      []string
	environments *endpoint.Environments
	policies     *virtualenvironment.Provider
	services     *endpoint.Provider
	custom       *crd.Provider
	ingresses    *ingress.Provider
	nginx        *ingressnginx.Provider
	gateways     *gateways
	addresses    []*report.Addresses
	reporter     *report.Reporter
}

func connect(options client.Options, number int, logger telemetry.Logger) (*cluster, error) {
	connected, err := client.Connect(options, numbered(source, number), logger, v1alpha1.AddToScheme,
		virtualenvironment.AddToScheme, client.AddGatewayToScheme)
	if err != nil {
		return nil, err
	}
	return &cluster{
		Cluster: connected, number: number, named: options.Endpoint != "", environments: endpoint.NewEnvironments(),
	}, nil
}

// numbered returns the name for the first cluster, and the name with the number for every other.
func numbered(name string, number int) string {
	if number == 1 {
		return name
	}
	return name + strconv.Itoa(number)
}

// use notes that the endpoints of the namespaces are used; none means all.
func (c *cluster) use(namespaces []string) {
	c.everywhere = c.everywhere || len(namespaces) == 0
	c.namespaces = append(c.namespaces, namespaces...)
}

func (c *cluster) watch(ctx context.Context) error { return c.Cluster.Run(ctx) }

// endpoints returns the provider of the endpoints that are used.
func (c *cluster) endpoints(metrics Metrics) provider.Entry {
	scope := client.Scope{}
	if !c.everywhere {
		slices.Sort(c.namespaces)
		c.namespaces = slices.Compact(c.namespaces)
		scope.Namespaces = c.namespaces
	}
	c.policies = virtualenvironment.New(c.Cluster, scope)
	c.services = endpoint.New(c.Cluster, scope, c.policies, c.environments, metrics)
	return provider.Entry{Name: numbered(endpoint.Name, c.number), Provider: c.services, Required: true}
}

// addReporter makes the reporter of the cluster.
func (c *cluster) addReporter(options Options) (err error) {
	providers := append(slices.Clone(c.readers), numbered(endpoint.Name, c.number))
	c.reporter, err = report.New(report.Options{
		Clients: c.Cluster, Logger: options.Logger, Metrics: options.Metrics, Addresses: c.addresses, Objects: c,
		Providers: providers, State: func() provider.State { return options.State().Of(providers) }, Exists: c.exists,
		Jobs: c.gateways.leading(),
	})
	return err
}

// exclusion returns what decides which Ingresses belong to the provider of ingress-nginx; nil where there is none.
func (c *cluster) exclusion() ingress.Exclusion {
	if c.nginx == nil {
		return nil
	}
	return c.nginx.Selector()
}

// Object implements report.Objects.
func (c *cluster) Object(kind, namespace, name string) (metav1.Object, bool) {
	switch {
	case kind == virtualenvironment.Kind:
		return c.policies.Object(namespace, name)
	case c.custom != nil:
		return c.custom.Object(kind, namespace, name)
	}
	return nil, false
}

// exists reports whether one of the providers reads an object.
func (c *cluster) exists(resource *dynamic.Resource) bool {
	return c.custom != nil && c.custom.Exists(resource) || c.ingresses != nil && c.ingresses.Exists(resource) ||
		c.nginx != nil && c.nginx.Exists(resource) ||
		c.gateways != nil && c.gateways.Exists(resource) ||
		c.policies.Exists(resource) || c.services.Exists(resource)
}
