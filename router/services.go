package router

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/router/service"
)

// serviceNode is a compiled service.
type serviceNode struct {
	name    string
	kind    string
	handler http.Handler
	pool    *loadbalancer.Pool
	// up reports whether an endpoint may answer now; nil means always.
	up func() bool
	// present reports whether the endpoint sets of a pool still exist; nil means always.
	present  func() bool
	children []branch
	// environments selects among the children; nil for other kinds.
	environments *environments
	// selects says that it, or a service below it, selects by the environment.
	selects bool
	// cookies are the keys of the sticky cookies of the service and those below it.
	cookies []cookieKey
	// access says whether it, or a service below it, shows the configuration, and what middlewares on the way there do
	// about it.
	access access
	// retains says that a middleware in it, or below it, may retain a part of a request.
	retains bool
	// depth and size say how deep and how many services are below it, each counted as often as it is named.
	depth    int
	size     int
	sets     []string
	steps    []string
	warnings []string
	err      error
}

// service returns the compiled service of a qualified name, from memory when nothing it is built from changed.
func (c *Compiler) service(name string) *serviceNode {
	if node, known := c.services[name]; known {
		return node
	}
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: name}
	if err := c.references.cycle(ref); err != nil {
		return &serviceNode{name: name, err: err}
	}
	c.references.push(ref)
	node := c.buildService(ref)
	c.references.pop()
	if !absent(node.err) { // A node of an absent name would never be invalidated.
		c.services[name] = node
	}
	return node
}

func (c *Compiler) buildService(ref dynamic.Ref) *serviceNode {
	name := ref.Name
	node := &serviceNode{name: name}
	if handler, internal := c.options.Internal[name]; internal {
		node.kind, node.handler, node.access = kindInternal, handler, showing(name)
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
		node.err = c.weighted(node, definition.Weighted)
	case definition.HighestRandomWeight != nil:
		node.err = c.highestRandomWeight(node, definition.HighestRandomWeight)
	case definition.Mirroring != nil:
		node.err = c.mirroring(node, definition.Mirroring)
	case definition.Failover != nil:
		node.err = c.failover(node, definition.Failover)
	case definition.Environment != nil:
		node.err = c.environment(node, definition.Environment)
	case definition.Canary != nil:
		node.err = c.canary(node, definition.Canary)
	case definition.DirectResponse != nil:
		node.err = node.direct(definition.DirectResponse)
	}
	if node.err == nil {
		c.around(ref, node, definition.Middlewares)
	}
	return node
}

// direct makes the handler of a service that answers by itself.
func (n *serviceNode) direct(config *dynamic.DirectResponse) error {
	handler, err := service.NewDirect(n.name, config)
	if err != nil {
		return err
	}
	n.serve(handler)
	return nil
}

// around puts a service's middlewares before it.
func (c *Compiler) around(ref dynamic.Ref, node *serviceNode, names []string) {
	chain := c.chain(ref, names, providerOf(ref.Name))
	if node.err = chain.err; node.err != nil {
		return
	}
	own := c.instances.of(ref)
	steps := own.resolve(chain.steps)
	own.finish(true)
	node.steps, node.access = chain.names, chain.access.before(node.access)
	node.handler, node.retains = wrap(steps, node.handler, node.retains || chain.retains)
}

// kindOf returns the one kind that a service sets.
func kindOf(definition *dynamic.Service) (string, error) {
	switch kinds := definition.Kinds(); len(kinds) {
	case 0:
		return "", errors.New("no kind is set: one of loadBalancer, weighted, mirroring, failover, " +
			"highestRandomWeight, environment, canary, directResponse")
	case 1:
		return kinds[0], nil
	default:
		return "", fmt.Errorf("%s are both set: a service has exactly one kind", strings.Join(kinds[:2], " and "))
	}
}
