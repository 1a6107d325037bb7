package resource

import (
	"cmp"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	schemeH2C   = "h2c"
)

// pool is the servers of a load balancer.
type pool struct {
	servers []loadbalancer.ServerSpec
	// scheme is that of all servers: http or h2c.
	scheme string
}

// poolOf returns the servers of a load balancer. Like the router it leaves out those whose port does not exist.
func poolOf(config *dynamic.ServersLoadBalancer) (pool, error) {
	if config.PassHostHeader != nil && !*config.PassHostHeader {
		return pool{}, errors.New("it sets passHostHeader to false, and clients send the Host header as it is")
	}
	if config.EndpointSet != "" {
		spec := loadbalancer.ServerSpec{SetKey: config.EndpointSet, Scheme: config.Scheme, Weight: 1}
		return joinPools(pool{}, pool{servers: []loadbalancer.ServerSpec{spec}, scheme: cmp.Or(spec.Scheme, schemeHTTP)})
	}
	var all pool
	for i := range config.Servers {
		spec, err := loadbalancer.NewServerSpec(config.Servers[i])
		switch {
		case errors.Is(err, loadbalancer.ErrPort):
			continue
		case err != nil:
			return pool{}, fmt.Errorf("servers[%d]: %w", i, err)
		case spec.Path != "":
			return pool{}, fmt.Errorf("servers[%d] sets preservePath, and clients send the path as it is", i)
		}
		all, err = joinPools(all, pool{servers: []loadbalancer.ServerSpec{spec}, scheme: spec.Scheme})
		if err != nil {
			return pool{}, err
		}
	}
	return all, nil
}

// joinPools returns the servers of two pools as one.
func joinPools(a, b pool) (pool, error) {
	switch {
	case a.scheme == schemeHTTPS || b.scheme == schemeHTTPS:
		return pool{}, errors.New("its servers require TLS, for which clients get no configuration")
	case a.scheme != "" && b.scheme != "" && a.scheme != b.scheme:
		return pool{}, fmt.Errorf("its servers have the schemes %s and %s, and clients use one", a.scheme, b.scheme)
	}
	for i := range b.servers {
		if !printable(b.servers[i].SetKey) {
			return pool{}, fmt.Errorf("the name %q of its server is not text", b.servers[i].SetKey)
		}
	}
	return pool{servers: append(a.servers, b.servers...), scheme: cmp.Or(a.scheme, b.scheme)}, nil
}

// assignment returns the EDS resource of a pool's cluster: the name of the only endpoint set, or Mixed with the
// cluster's name.
func (p pool) assignment(cluster string) (string, *Mixed) {
	if len(p.servers) == 1 && p.servers[0].SetKey != "" && p.servers[0].Weight > 0 {
		return p.servers[0].SetKey, nil
	}
	return cluster, &Mixed{Name: cluster, Servers: p.servers}
}

// cluster returns the EDS cluster of a pool.
func (p pool) cluster(name string, balancing policy) *cluster {
	assignment, mixed := p.assignment(name)
	published := edsCluster(name, assignment)
	balancing.apply(published)
	if p.scheme == schemeH2C {
		setHTTP2(published)
	}
	return &cluster{Cluster: published, policy: balancing, mixed: mixed}
}

// loadBalancer translates a service that balances over servers.
func (t *translator) loadBalancer(name string, config *dynamic.ServersLoadBalancer) (*target, error) {
	servers, err := poolOf(config)
	if err != nil {
		return nil, err
	}
	strategy, err := picker.NewStrategy(config.Strategy, config.Hash)
	if err != nil {
		return nil, err
	}
	hashing, err := hashingOf(name, strategy, config)
	if err != nil {
		return nil, err
	}
	published := servers.cluster(name, policyOf(strategy, config))
	setLimits(published.Cluster, config.Limits)
	setOutlierDetection(published.Cluster, config.OutlierDetection)
	t.clusters[name] = published
	return &target{splits: []split{{name, unit()}}, hashing: hashing}, nil
}

// printable reports whether a text can be a name in a protobuf message and in a message to a person.
func printable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}
