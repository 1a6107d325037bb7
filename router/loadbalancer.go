package router

import (
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// loadBalancer compiles a service that balances over servers.
func (c *Compiler) loadBalancer(node *serviceNode, config *dynamic.ServersLoadBalancer) {
	spec := loadbalancer.PoolSpec{Name: node.name}
	if spec.Servers, node.err = node.servers(config); node.err != nil {
		return
	}
	again := c.retry
	if config.Retry != nil {
		if again, node.err = retry.New(config.Retry); node.err != nil {
			node.err = fmt.Errorf("loadBalancer.%w", node.err)
			return
		}
	}
	if spec.Policies, node.err = policies(node.name, config); node.err != nil {
		return
	}
	if spec.Policies.Sticks {
		node.cookies = []cookieKey{keyOf(&spec.Policies.Cookie, config.Sticky.Cookie)}
	}
	transport := c.transportOf(node.name, config.ServersTransport)
	if transport.err != nil {
		node.err = transport.err
		return
	}
	spec.Dialer = transport.dialer
	for _, server := range spec.Servers {
		if server.SetKey != "" {
			node.sets = append(node.sets, server.SetKey)
		}
	}
	c.countSets(node.sets, 1)
	node.pool = c.pools.take(spec)
	node.up, node.present = node.pool.Up, node.pool.Present
	options := forward.Options{
		Service: node.name, PassHostHeader: true, FlushInterval: time.Duration(dynamic.DefaultFlushInterval), Retry: again,
		Transport: transport.dialer,
	}
	if config.PassHostHeader != nil {
		options.PassHostHeader = *config.PassHostHeader
	}
	if config.ResponseForwarding != nil {
		options.FlushInterval = time.Duration(config.ResponseForwarding.FlushInterval)
	}
	if c.options.Meter != nil {
		options.Series = c.options.Meter.Service(node.name)
	}
	node.handler = forward.NewService(node.pool, options)
}

// servers translates what a load balancer lists into what a pool takes. A server whose port does not exist is left out
// with a warning, so that the others serve.
func (n *serviceNode) servers(config *dynamic.ServersLoadBalancer) ([]loadbalancer.ServerSpec, error) {
	if config.EndpointSet != "" {
		return []loadbalancer.ServerSpec{{SetKey: config.EndpointSet, Scheme: config.Scheme, Weight: 1}}, nil
	}
	return serverSpecs(config.Servers, loadbalancer.NewServerSpec, &n.warnings)
}
