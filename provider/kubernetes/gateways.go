package kubernetes

import (
	"context"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/election"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/exposure"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/provider/kubernetes/report"
	"github.com/sluiceproxy/sluice/static"
)

// addManifests adds what reads the Gateway API of manifests, for commands that answer questions.
func (c *Clusters) addManifests(where *cluster) error {
	made := &gateways{}
	var err error
	made.Provider, err = gateway.New(where.Cluster, *c.options.Gateway, &gateway.Documents{}, where.environments,
		c.options.Metrics)
	if err != nil {
		return err
	}
	c.enter(where, made)
	return nil
}

// enter adds the provider of a cluster.
func (c *Clusters) enter(where *cluster, made *gateways) {
	if where.custom != nil {
		made.Extend(where.custom)
	}
	where.gateways = made
	where.readers = append(where.readers, gateway.Name)
	c.entries = append(c.entries, provider.Entry{
		Name: gateway.Name, Provider: made.Provider, Required: true, Paced: true,
	})
}

// gateways is what reads the Gateway API of a cluster, and writes its statuses and Services.
type gateways struct {
	*gateway.Provider
	exposures *exposure.Exposures
	writer    *status.Writer
}

// passStatuses passes statuses on to the writer until ctx ends.
func (g *gateways) passStatuses(ctx context.Context) {
	statuses := g.Statuses()
	for {
		select {
		case <-statuses.Changed():
			changed, gone := statuses.Take()
			g.writer.Set(changed...)
			g.writer.Delete(gone...)
		case <-ctx.Done():
			return
		}
	}
}

// followTable passes what is active of its configuration on to the provider, until ctx ends.
func (g *gateways) followTable(ctx context.Context, state func() provider.State) {
	for {
		now := state()
		if active := now.Included[gateway.Name]; active != nil {
			g.Activated(active, now.Active)
		}
		select {
		case <-now.Changed:
		case <-ctx.Done():
			return
		}
	}
}

// leading returns what only the leader does.
func (g *gateways) leading() []report.Job {
	if g == nil {
		return nil
	}
	return []report.Job{g.writer.Run, g.exposures.Run}
}

func (c *Clusters) addGateway() error {
	config := c.options.Gateway
	if config == nil {
		return nil
	}
	where, err := c.connect(c.from(client.Options{
		Endpoint: config.Endpoint, Token: config.Token, CertAuthFilePath: config.CertAuthFilePath,
	}), config.Namespaces)
	if err != nil {
		return err
	}
	if c.options.Manifests != nil {
		return c.addManifests(where)
	}
	made := &gateways{}
	if made.exposures, err = c.exposures(where, *config); err != nil {
		return err
	}
	made.Provider, err = gateway.New(where.Cluster, *config, made.exposures, where.environments, c.options.Metrics)
	if err != nil {
		return err
	}
	made.writer = status.New(status.Options{
		Clients: where.Cluster, Objects: made.Provider, Logger: c.options.Logger,
		Controller: gatewayv1.GatewayController(config.ControllerName), QPS: config.QPS, Burst: config.Burst,
	})
	made.FollowObjects(func(key status.Key) { made.writer.Touch(key) })
	c.enter(where, made)
	return nil
}

// exposures returns what exposes the Gateways of a cluster.
func (c *Clusters) exposures(where *cluster, config static.KubernetesGateway) (*exposure.Exposures, error) {
	namespace := election.OwnNamespace()
	services, scope := exposure.OwnServices(namespace, config)
	options := exposure.Options{
		Config: config, Clients: where.Cluster, Logger: c.options.Logger, Namespace: namespace,
		Services: client.Watch(where.Cluster, services, scope),
	}
	if config.Exposure != static.ExposeByPool {
		options.Pods = client.Watch(where.Cluster, exposure.OwnPods(config), client.Scope{Namespaces: []string{namespace}})
	}
	if resource, scope, shown := exposure.ShownService(config); shown {
		options.Shown = client.Watch(where.Cluster, resource, scope)
	}
	return exposure.New(options)
}
