package router

import (
	"errors"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/stream"
)

// tcpMiddlewareNode is a compiled TCP middleware.
type tcpMiddlewareNode struct {
	step     stream.Step
	warnings []string
	err      error
}

// tcpStep is a middleware of a route, with its name.
type tcpStep struct {
	name string
	step stream.Step
}

// tcpMiddleware returns the compiled TCP middleware of a qualified name, from memory when it has not changed.
func (c *Compiler) tcpMiddleware(name string) *tcpMiddlewareNode {
	if node, known := c.tcp.middlewares[name]; known {
		return node
	}
	ref := dynamic.Ref{Kind: dynamic.KindTCPMiddleware, Name: name}
	definition := c.source.tcpMiddleware(name)
	if definition == nil {
		return &tcpMiddlewareNode{err: errMissing} // A node of an absent name would never be invalidated.
	}
	node := &tcpMiddlewareNode{err: c.source.refused(ref)}
	if node.err == nil {
		_, node.err = oneKind(definition.Kinds(), "ipAllowList, inFlightConn, rateLimit")
	}
	if node.err == nil {
		node.step, node.err = stream.New(definition, c.tcp.steps[name])
	}
	if definition.IPWhiteList != nil {
		node.warnings = append(node.warnings, "ipWhiteList is deprecated: use ipAllowList")
	}
	if node.step != nil {
		c.tcp.steps[name], c.tcp.changed = node.step, true
	}
	c.tcp.middlewares[name] = node
	return node
}

// tcpSteps returns the middlewares that a TCP router names.
func (c *Compiler) tcpSteps(router dynamic.Ref, names []string) ([]tcpStep, error) {
	var steps []tcpStep
	var faults []error
	for _, name := range names {
		on := dynamic.Ref{Kind: dynamic.KindTCPMiddleware, Name: Qualify(name, providerOf(router.Name))}
		c.graph.depend(router, on)
		node := c.tcpMiddleware(on.Name)
		if node.err != nil {
			faults = append(faults, because(on, node.err))
			continue
		}
		steps = append(steps, tcpStep{on.Name, node.step})
	}
	return steps, errors.Join(faults...)
}
