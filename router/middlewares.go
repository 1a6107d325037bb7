package router

import (
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware"
)

// middlewareNode is a compiled middleware, or a chain laid flat: steps and their names, outermost first.
type middlewareNode struct {
	names []string
	steps []middleware.Middleware
	err   error
}

// wrap puts the steps around next.
func (n *middlewareNode) wrap(next http.Handler) http.Handler {
	for _, step := range slices.Backward(n.steps) {
		next = step.Wrap(next)
	}
	return next
}

// middleware returns the compiled middleware of a qualified name, from memory when nothing it is built from changed.
func (c *Compiler) middleware(name string) *middlewareNode {
	if node, known := c.middlewares[name]; known {
		return node
	}
	if slices.Contains(c.stack, name) {
		return &middlewareNode{err: recursion(c.stack, name)}
	}
	c.stack = append(c.stack, name)
	node := c.buildMiddleware(name)
	c.stack = c.stack[:len(c.stack)-1]
	c.middlewares[name] = node
	return node
}

func (c *Compiler) buildMiddleware(name string) *middlewareNode {
	ref := dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name}
	definition := c.source.middleware(name)
	if definition == nil {
		return &middlewareNode{err: errMissing}
	}
	if err := c.source.refused(ref); err != nil {
		return &middlewareNode{err: err}
	}
	if definition.Chain != nil {
		if err := onlyChain(name, definition); err != nil {
			return &middlewareNode{err: err}
		}
		return c.chain(ref, definition.Chain.Middlewares, providerOf(name))
	}
	step, err := middleware.Build(name, definition)
	if err != nil {
		return &middlewareNode{err: err}
	}
	return &middlewareNode{names: []string{name}, steps: []middleware.Middleware{step}}
}

// onlyChain lets Build find a second kind beside the chain.
func onlyChain(name string, definition *dynamic.Middleware) error {
	rest := *definition
	rest.Chain = nil
	if dynamic.Equal(rest, dynamic.Middleware{}) {
		return nil
	}
	_, err := middleware.Build(name, definition)
	return err
}

// chain lays the named middlewares flat, in order, for the object that lists them.
func (c *Compiler) chain(owner dynamic.Ref, names []string, provider string) *middlewareNode {
	flat := &middlewareNode{}
	for _, name := range names {
		ref := dynamic.Ref{Kind: dynamic.KindMiddleware, Name: Qualify(name, provider)}
		c.graph.depend(owner, ref)
		member := c.middleware(ref.Name)
		if member.err != nil {
			if flat.err == nil {
				flat.err = because(ref, member.err)
			}
			continue
		}
		flat.names = append(flat.names, member.names...)
		flat.steps = append(flat.steps, member.steps...)
	}
	if flat.err != nil {
		flat.names, flat.steps = nil, nil
	}
	return flat
}
