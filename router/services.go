package router

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// serviceNode is a compiled service.
type serviceNode struct {
	name    string
	kind    string
	handler http.Handler
	pool    *loadbalancer.Pool
	// up tells whether anybody could answer now; nil is always.
	up       func() bool
	children []branch
	// depth and size say how deep and how many services are below it, each counted as often as it is named.
	depth    int
	size     int
	sets     []string
	steps    []string
	warnings []string
	err      error
}

// branch is a child of a service of services.
type branch struct {
	node   *serviceNode
	weight int
}

// service returns the compiled service of a qualified name, from memory when nothing it is built from changed.
func (c *Compiler) service(name string) *serviceNode {
	if node, known := c.services[name]; known {
		return node
	}
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: name}
	if err := c.way.circle(ref); err != nil {
		return &serviceNode{name: name, err: err}
	}
	c.way.enter(ref)
	node := c.buildService(ref)
	c.way.leave()
	if !absent(node.err) { // Nobody would say when to forget the name.
		c.services[name] = node
	}
	return node
}

func (c *Compiler) buildService(ref dynamic.Ref) *serviceNode {
	name := ref.Name
	node := &serviceNode{name: name}
	if handler, internal := c.options.Internal[name]; internal {
		node.kind, node.handler = kindInternal, handler
		return node
	}
	definition := c.source.service(name)
	if definition == nil {
		node.err = errMissing
		return node
	}
	if node.err = c.source.refused(ref); node.err != nil {
		return node
	}
	if node.kind, node.err = kindOf(definition); node.err != nil {
		return node
	}
	switch {
	case definition.LoadBalancer != nil:
		c.loadBalancer(node, definition.LoadBalancer)
	case definition.Weighted != nil:
		c.weighted(node, definition.Weighted)
	default:
		node.err = fmt.Errorf("%s is not supported yet", node.kind)
	}
	if node.err != nil || len(definition.Middlewares) == 0 {
		return node
	}
	around := c.chain(ref, definition.Middlewares, providerOf(name))
	if node.err = around.err; node.err == nil {
		node.handler, node.steps = around.wrap(node.handler), around.names
	}
	return node
}

// kindOf returns the one kind that a service sets.
func kindOf(definition *dynamic.Service) (string, error) {
	switch kinds := definition.Kinds(); len(kinds) {
	case 0:
		return "", errors.New("no kind is set: one of loadBalancer, weighted, mirroring, failover, highestRandomWeight")
	case 1:
		return kinds[0], nil
	default:
		return "", fmt.Errorf("%s are both set: a service has exactly one kind", strings.Join(kinds[:2], " and "))
	}
}

func (c *Compiler) weighted(node *serviceNode, config *dynamic.WeightedRoundRobin) {
	if len(config.Services) == 0 {
		node.err = errors.New("weighted.services is empty")
		return
	}
	if config.Sticky != nil {
		node.warnings = append(node.warnings, "weighted.sticky is not supported yet and has no effect")
	}
	if config.HealthCheck != nil {
		node.warnings = append(node.warnings, "weighted.healthCheck is not supported yet and has no effect")
	}
	owner := dynamic.Ref{Kind: dynamic.KindService, Name: node.name}
	for i, entry := range config.Services {
		weight := 1
		if entry.Weight != nil {
			weight = *entry.Weight
		}
		if weight < 0 {
			node.err = fmt.Errorf("weighted.services[%d]: weight %d is negative", i, weight)
			return
		}
		ref := dynamic.Ref{Kind: dynamic.KindService, Name: Qualify(entry.Name, providerOf(node.name))}
		c.graph.depend(owner, ref)
		child := c.service(ref.Name)
		node.depth, node.size = max(node.depth, child.depth+1), node.size+child.size+1
		if node.err = cmp.Or(tooDeep(node.depth), tooMany("services below it", node.size, maxBranches)); node.err != nil {
			return
		}
		if child.err != nil {
			node.err = because(ref, child.err)
			return
		}
		node.children = append(node.children, branch{node: child, weight: weight})
	}
	node.handler = newSplit(node.name, node.children)
}
