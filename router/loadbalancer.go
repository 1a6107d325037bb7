package router

import (
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// loadBalancer compiles a service that balances over servers.
func (c *Compiler) loadBalancer(node *serviceNode, config *dynamic.ServersLoadBalancer) {
	specs, err := servers(config)
	if err != nil {
		node.err = err
		return
	}
	transport := c.transportOf(node.name, config.ServersTransport)
	if transport.err != nil {
		node.err = transport.err
		return
	}
	node.warnings = warnLoadBalancer(config)
	for _, spec := range specs {
		if spec.SetKey != "" {
			node.sets = append(node.sets, spec.SetKey)
		}
	}
	c.countSets(node, 1)
	node.pool = c.pools.take(loadbalancer.PoolSpec{Name: node.name, Servers: specs, Dialer: transport.dialer})
	pool := node.pool
	node.up = func() bool { return pool.Snapshot().Serving() > 0 }
	options := forward.Options{Service: node.name, PassHostHeader: true, FlushInterval: time.Duration(dynamic.DefaultFlushInterval)}
	if config.PassHostHeader != nil {
		options.PassHostHeader = *config.PassHostHeader
	}
	if config.ResponseForwarding != nil {
		options.FlushInterval = time.Duration(config.ResponseForwarding.FlushInterval)
	}
	node.handler = forward.NewService(node.pool, options)
}

// warnLoadBalancer lists the options that are known and have no effect yet.
func warnLoadBalancer(config *dynamic.ServersLoadBalancer) []string {
	var warnings []string
	if config.Strategy != "" && config.Strategy != dynamic.StrategyWRR {
		warnings = append(warnings, fmt.Sprintf("loadBalancer.strategy %q is not supported yet, wrr is used", config.Strategy))
	}
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"loadBalancer.sticky", config.Sticky != nil},
		{"loadBalancer.healthCheck", config.HealthCheck != nil},
		{"loadBalancer.passiveHealthCheck", config.PassiveHealthCheck != nil},
	} {
		if option.set {
			warnings = append(warnings, option.name+" is not supported yet and has no effect")
		}
	}
	return warnings
}

// servers translates what a load balancer lists into what a pool takes.
func servers(config *dynamic.ServersLoadBalancer) ([]loadbalancer.ServerSpec, error) {
	if config.EndpointSet != "" {
		return []loadbalancer.ServerSpec{{SetKey: config.EndpointSet, Scheme: config.Scheme, Weight: 1}}, nil
	}
	specs := make([]loadbalancer.ServerSpec, 0, len(config.Servers))
	for i := range config.Servers {
		spec, err := loadbalancer.NewServerSpec(config.Servers[i])
		if err != nil {
			return nil, fmt.Errorf("loadBalancer.servers[%d]: %w", i, err)
		}
		specs = append(specs, spec)
	}
	return specs, nil
}
