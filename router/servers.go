package router

import (
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

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
