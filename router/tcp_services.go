package router

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
)

// tcpPool begins the names of the pools of TCP services, since an HTTP service may have the same name.
const tcpPool = "tcp:"

type tcpServiceNode = layer4Node[stream.Service]

// tcpServices are the TCP services between compilations.
type tcpServices = layer4Services[stream.Service, stream.State]

func (c *Compiler) newTCPServices() *tcpServices {
	return &tcpServices{
		kind: dynamic.KindTCPService, pool: tcpPool, nodes: map[string]*tcpServiceNode{},
		rotations: map[string]*stream.State{}, newRotation: stream.NewState, build: c.buildTCPService,
	}
}

func (c *Compiler) buildTCPService(node *tcpServiceNode) error {
	definition := c.source.tcpService(node.name)
	if definition == nil {
		return errMissing
	}
	var err error
	if node.kind, err = oneKind(definition.Kinds(), "loadBalancer, weighted"); err != nil {
		return err
	}
	if definition.LoadBalancer != nil {
		return c.tcpLoadBalancer(node, definition.LoadBalancer)
	}
	services := c.tcp.services
	if err := services.adoptAll(c, node, definition.Weighted.Services); err != nil {
		return err
	}
	options := stream.WeightedOptions{
		Name: node.name, HealthCheck: definition.Weighted.HealthCheck != nil, State: services.rotation(node.name),
	}
	for _, child := range node.children {
		options.Children = append(options.Children, stream.Child{
			Name: child.node.name, Weight: child.weight, Service: child.node.service,
		})
	}
	node.service = stream.NewWeighted(options)
	node.up = node.service.Up
	return nil
}

// tcpLoadBalancer compiles a service that balances over servers.
func (c *Compiler) tcpLoadBalancer(node *tcpServiceNode, config *dynamic.TCPServersLoadBalancer) error {
	var spec loadbalancer.PoolSpec
	var err error
	if spec.Servers, err = tcpServers(node, config); err != nil {
		return err
	}
	if spec.Policies, err = tcpPolicies(config); err != nil {
		return err
	}
	transport := c.tcpTransportOf(node.name, config.ServersTransport)
	if transport.err != nil {
		return transport.err
	}
	spec.Dialer = transport.transport
	options := stream.Options{
		Service: node.name, Transport: transport.transport, Attempts: 2, ProxyProtocol: config.ProxyProtocol,
	}
	if config.Attempts != nil {
		options.Attempts = *config.Attempts
	}
	if delay := config.TerminationDelay; delay != nil {
		if config.ServersTransport == "" {
			options.TerminationDelay = new(time.Duration(*delay) * time.Millisecond)
		} else {
			node.warnings = append(node.warnings,
				"loadBalancer.terminationDelay has no effect beside a serversTransport, which has one of its own")
		}
	}
	if err := within("attempts", options.Attempts, 0, 100); err != nil {
		return err
	}
	if err := stream.CheckProxyProtocol(config.ProxyProtocol); err != nil {
		return fmt.Errorf("loadBalancer.%w", err)
	}
	c.tcp.services.use(c, node, spec)
	node.service = stream.NewBalancer(node.pool, options)
	return nil
}

// tcpServers translates what a load balancer lists. A server whose port does not exist is left out with a warning.
func tcpServers(node *tcpServiceNode, config *dynamic.TCPServersLoadBalancer) ([]loadbalancer.ServerSpec, error) {
	if config.EndpointSet != "" {
		scheme := "tcp"
		if config.TLS {
			scheme = "tls"
		}
		return []loadbalancer.ServerSpec{{SetKey: config.EndpointSet, Scheme: scheme, Weight: 1}}, nil
	}
	return serverSpecs(config.Servers, loadbalancer.NewTCPServerSpec, &node.warnings)
}

// tcpPolicies translates how a load balancer chooses among its servers.
func tcpPolicies(config *dynamic.TCPServersLoadBalancer) (loadbalancer.Policies, error) {
	chosen := loadbalancer.Policies{
		Panic: config.PanicThreshold, SlowStart: time.Duration(config.SlowStart),
		DrainTime: time.Duration(config.DrainTimeout), Zone: zonePolicy(config.ZoneAware),
	}
	var err error
	if chosen.Strategy, err = layer4Strategy(config.Strategy); err != nil {
		return chosen, err
	}
	if chosen.Outlier, err = outlier.NewPolicy(nil, config.OutlierDetection); err != nil {
		return chosen, fmt.Errorf("loadBalancer.%w", err)
	}
	if config.HealthCheck != nil {
		chosen.Checked = true
		if chosen.Check, err = health.NewTCPCheck(config.HealthCheck); err != nil {
			return chosen, fmt.Errorf("loadBalancer.%w", err)
		}
	}
	if chosen.Limits, err = limits(config.Limits); err != nil {
		return chosen, err
	}
	return chosen, cmp.Or(
		within("panicThreshold", config.PanicThreshold, 0, 100),
		notNegative("slowStart", config.SlowStart),
		notNegative("drainTimeout", config.DrainTimeout),
	)
}

// tcpTransportNode is a compiled transport of TCP.
type tcpTransportNode struct {
	transport *stream.Transport
	warnings  []string
	err       error
}

// tcpTransportOf returns the transport that a TCP service names, empty for the default one.
func (c *Compiler) tcpTransportOf(service, name string) *tcpTransportNode {
	ref := dynamic.Ref{
		Kind: dynamic.KindTCPServersTransport, Name: Qualify(cmp.Or(name, DefaultTransport), providerOf(service)),
	}
	c.graph.depend(dynamic.Ref{Kind: dynamic.KindTCPService, Name: service}, ref)
	node := c.tcpTransport(ref)
	if node.err != nil {
		return &tcpTransportNode{err: because(ref, node.err)}
	}
	return node
}

func (c *Compiler) tcpTransport(ref dynamic.Ref) *tcpTransportNode {
	if node, known := c.tcp.transports[ref.Name]; known {
		return node
	}
	node := &tcpTransportNode{}
	definition := c.source.tcpTransport(ref.Name)
	if ref.Name == DefaultTransport && definition == nil {
		definition = c.options.TCPTransport
	}
	if definition == nil {
		node.err = errMissing
		return node // A node of an absent name would never be invalidated.
	}
	if node.err = c.source.refused(ref); node.err == nil {
		node.transport, node.err = stream.NewTransport(ref.Name, definition, c.options.Identity)
		node.err = cmp.Or(errors.Unwrap(node.err), node.err) // The verdict names the object.
	}
	if node.err == nil {
		node.transport.Reserve(c.options.Descriptors)
		node.transport.Control(c.options.Control)
		if c.options.Dial != nil {
			node.transport.DialWith(c.options.Dial)
		}
	}
	if tls := definition.TLS; tls != nil && tls.Spiffe != nil && len(tls.Spiffe.IDs) > 0 && tls.Spiffe.TrustDomain != "" {
		node.warnings = append(node.warnings, "tls.spiffe.trustDomain has no effect beside tls.spiffe.ids")
	}
	c.tcp.transports[ref.Name] = node
	return node
}

// oneKind returns the one kind that an object sets.
func oneKind(kinds []string, all string) (string, error) {
	switch len(kinds) {
	case 0:
		return "", fmt.Errorf("no kind is set: one of %s", all)
	case 1:
		return kinds[0], nil
	}
	return "", fmt.Errorf("%s and %s are both set: exactly one kind is allowed", kinds[0], kinds[1])
}

// serverSpecs translates the servers of a load balancer. One whose port does not exist is left out with a warning.
func serverSpecs[T any](
	servers []T, translate func(T) (loadbalancer.ServerSpec, error), warnings *[]string,
) ([]loadbalancer.ServerSpec, error) {
	specs := make([]loadbalancer.ServerSpec, 0, len(servers))
	for i, server := range servers {
		spec, err := translate(server)
		switch {
		case errors.Is(err, loadbalancer.ErrPort):
			*warnings = append(*warnings, fmt.Sprintf("loadBalancer.servers[%d]: %v; the server is left out", i, err))
			continue
		case err != nil:
			return nil, fmt.Errorf("loadBalancer.servers[%d]: %w", i, err)
		}
		specs = append(specs, spec)
	}
	return slices.Clip(specs), nil
}
