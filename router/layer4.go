package router

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// layer4Node is a compiled service of the section tcp or udp, of which S is the type that serves.
type layer4Node[S any] struct {
	name    string
	kind    string
	service S
	pool    *loadbalancer.Pool
	// up reports whether an endpoint may answer now.
	up func() bool
	// children are those of a weighted service.
	children []layer4Branch[S]
	// depth and size say how deep and how many services are below it, each counted as often as it is named.
	depth    int
	size     int
	sets     []string
	warnings []string
	err      error
}

// layer4Branch is a child of a weighted service.
type layer4Branch[S any] struct {
	node   *layer4Node[S]
	weight int
}

// layer4Services are the services of one section between compilations.
type layer4Services[S, R any] struct {
	kind dynamic.Kind
	// pool begins the names of their pools.
	pool  string
	nodes map[string]*layer4Node[S]
	// rotations are what weighted services keep when they are built anew.
	rotations map[string]*R
	// newRotation makes the first one of a service.
	newRotation func() *R
	// build compiles what is declared by that name; it returns errMissing where nothing is.
	build func(node *layer4Node[S]) error
}

// service returns the compiled service of a qualified name, from memory when nothing it is built from changed.
func (l *layer4Services[S, R]) service(c *Compiler, name string) *layer4Node[S] {
	if node, known := l.nodes[name]; known {
		return node
	}
	ref := dynamic.Ref{Kind: l.kind, Name: name}
	node := &layer4Node[S]{name: name}
	if node.err = c.references.cycle(ref); node.err != nil {
		return node
	}
	c.references.push(ref)
	node.err = l.build(node)
	if refusal := c.source.refused(ref); refusal != nil && !absent(node.err) {
		node.err = refusal
	}
	c.references.pop()
	if !absent(node.err) { // A node of an absent name would never be invalidated.
		l.nodes[name] = node
	}
	return node
}

// of returns the service that a router names.
func (l *layer4Services[S, R]) of(c *Compiler, router dynamic.Ref, name string) (*layer4Node[S], error) {
	if name == "" {
		return nil, errors.New("the service is missing")
	}
	on := dynamic.Ref{Kind: l.kind, Name: Qualify(name, providerOf(router.Name))}
	c.graph.depend(router, on)
	node := l.service(c, on.Name)
	if node.err != nil {
		return nil, because(on, node.err)
	}
	return node, nil
}

// forget drops what was built for a service.
func (l *layer4Services[S, R]) forget(c *Compiler, name string) {
	if node := l.nodes[name]; node != nil {
		c.countSets(node.sets, -1)
	}
	delete(l.nodes, name)
	c.pools.suspect(l.pool + name)
}

// usesPool reports whether a service that exists needs its pool.
func (l *layer4Services[S, R]) usesPool(name string) bool {
	node, known := l.nodes[name]
	return known && node.pool != nil
}

// adoptAll compiles the children of a weighted service.
func (l *layer4Services[S, R]) adoptAll(c *Compiler, node *layer4Node[S], entries []dynamic.WeightedService) error {
	if len(entries) == 0 {
		return errors.New("weighted.services is empty")
	}
	for i, entry := range entries {
		weight, option := 1, fmt.Sprintf("weighted.services[%d]", i)
		if entry.Weight != nil {
			weight = *entry.Weight
		}
		switch {
		case weight < 0:
			return fmt.Errorf("%s: weight %d is negative", option, weight)
		case entry.Name == "":
			return fmt.Errorf("%s names no service", option)
		}
		ref := dynamic.Ref{Kind: l.kind, Name: Qualify(entry.Name, providerOf(node.name))}
		c.graph.depend(dynamic.Ref{Kind: l.kind, Name: node.name}, ref)
		child := l.service(c, ref.Name)
		node.depth, node.size = max(node.depth, child.depth+1), node.size+child.size+1
		if err := cmp.Or(tooDeep(node.depth), tooMany("services below it", node.size, maxBranches)); err != nil {
			return err
		}
		if child.err != nil {
			return because(ref, child.err)
		}
		node.children = append(node.children, layer4Branch[S]{node: child, weight: weight})
	}
	return nil
}

// rotation returns what a weighted service keeps from one table to the next.
func (l *layer4Services[S, R]) rotation(name string) *R {
	state, known := l.rotations[name]
	if !known {
		state = l.newRotation()
		l.rotations[name] = state
	}
	return state
}

// use completes a pool's specification, and gives the node the pool.
func (l *layer4Services[S, R]) use(c *Compiler, node *layer4Node[S], spec loadbalancer.PoolSpec) {
	spec.Name = l.pool + node.name
	for _, server := range spec.Servers {
		if server.SetKey != "" {
			node.sets = append(node.sets, server.SetKey)
		}
	}
	c.countSets(node.sets, 1)
	node.pool = c.pools.take(spec)
	node.up = node.pool.Up
}

// layer4Strategy returns the strategy of a load balancer without requests: those of HTTP that need a response are none.
func layer4Strategy(name string) (picker.Strategy, error) {
	var hash *dynamic.HashStrategy
	switch name {
	case dynamic.StrategyHash:
		hash = &dynamic.HashStrategy{}
		hash.SetDefaults()
	case dynamic.StrategyLeastTime, dynamic.StrategyPeakEWMA:
		return picker.Strategy{}, fmt.Errorf("loadBalancer.strategy: %q needs the latency of responses, which only HTTP has; "+
			"use wrr, p2c, leastrequest, hrw or hash", name)
	}
	strategy, err := picker.NewStrategy(name, hash)
	if err != nil {
		return strategy, fmt.Errorf("loadBalancer: %w", err)
	}
	return strategy, nil
}

// status returns the present state of the service.
func (n *layer4Node[S]) status() ServiceStatus {
	status := ServiceStatus{Name: n.name, Kind: n.kind, Up: n.up == nil || n.up(), Endpoints: endpointsOf(n.pool)}
	for _, child := range n.children {
		branch := child.node.status()
		branch.Weight = child.weight
		status.Services = append(status.Services, branch)
	}
	return status
}
