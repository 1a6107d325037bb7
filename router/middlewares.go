package router

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware"
)

// middlewareNode is a compiled middleware, or a chain laid flat: steps and their names, outermost first.
type middlewareNode struct {
	names []string
	steps []middleware.Middleware
	// depth is how deep the chains in it are nested.
	depth int
	// retains says that a service which one of them calls may retain a part of a request.
	retains bool
	// access says whether they restrict access, and whether one of them answers with a service that shows the
	// configuration.
	access access
	// warnings are what a definition declares without effect.
	warnings []string
	err      error
}

// noRetain declares that no handler behind it retains a part of a request, so that the memory of a step before it can
// be reused.
type noRetain struct{ http.Handler }

// NoRetain implements the capability.
func (noRetain) NoRetain() {}

// wrap puts steps around a handler. Whether that one may keep a part of a request is given, and returned for the whole.
func wrap(steps []middleware.Middleware, next http.Handler, retains bool) (whole http.Handler, keeps bool) {
	for _, step := range slices.Backward(steps) {
		if !retains {
			next = noRetain{next}
		}
		next = step.Wrap(next)
		_, ok := step.(httpio.NoRetainer)
		retains = retains || !ok
	}
	return next, retains
}

// middleware returns the compiled middleware of a qualified name, from memory when nothing it is built from changed.
func (c *Compiler) middleware(name string) *middlewareNode {
	if node, known := c.middlewares[name]; known {
		return node
	}
	ref := dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name}
	if err := c.references.cycle(ref); err != nil {
		return &middlewareNode{err: err}
	}
	c.references.push(ref)
	node := c.buildMiddleware(ref)
	c.references.pop()
	if !absent(node.err) { // A node of an absent name would never be invalidated.
		c.middlewares[name] = node
	}
	return node
}

func (c *Compiler) buildMiddleware(ref dynamic.Ref) *middlewareNode {
	name := ref.Name
	definition := c.source.middleware(name)
	if definition == nil {
		return &middlewareNode{err: errMissing}
	}
	if err := c.source.refused(ref); err != nil {
		return &middlewareNode{err: err}
	}
	if definition.Chain != nil {
		if err := onlyChain(definition); err != nil {
			return &middlewareNode{err: err}
		}
		flat := c.chain(ref, definition.Chain.Middlewares, providerOf(name))
		flat.err = cmp.Or(tooDeep(flat.depth), flat.err)
		return flat
	}
	node, reads := &middlewareNode{names: []string{name}}, &middleware.Reads{}
	step, err := c.options.Middlewares.Build(name, definition, c.referencesOf(ref, node), reads)
	c.instances.add(name, step, reads)
	if err = cmp.Or(err, tooDeep(node.depth)); err != nil {
		return &middlewareNode{err: err}
	}
	node.access = c.guarding(name, definition, step).beside(node.access)
	node.steps = []middleware.Middleware{step}
	if cautious, ok := step.(middleware.Warner); ok {
		node.warnings = cautious.Warnings()
	}
	return node
}

// referencesOf returns what finds the services and middlewares that a middleware names.
func (c *Compiler) referencesOf(ref dynamic.Ref, node *middlewareNode) middleware.References {
	return middleware.References{
		Service: func(name string) (http.Handler, error) {
			called, err := c.calledService(ref, name)
			if err != nil {
				return nil, err
			}
			node.retains, node.access = node.retains || called.retains, node.access.beside(called.access)
			return called.handler, nil
		},
		Middleware: func(name string) ([]middleware.Middleware, error) {
			member := dynamic.Ref{Kind: dynamic.KindMiddleware, Name: Qualify(name, providerOf(ref.Name))}
			c.graph.depend(ref, member)
			built := c.middleware(member.Name)
			if built.err != nil {
				return nil, because(member, built.err)
			}
			node.retains, node.depth = node.retains || built.retains, max(node.depth, built.depth+1)
			return built.steps, nil
		},
	}
}

// onlyChain lets Build find a second kind beside the chain.
func onlyChain(definition *dynamic.Middleware) error {
	rest := *definition
	rest.Chain = nil
	if dynamic.Equal(rest, dynamic.Middleware{}) {
		return nil
	}
	_, err := middleware.KindOf(definition)
	return err
}

// calledService returns a service that a middleware calls.
func (c *Compiler) calledService(owner dynamic.Ref, name string) (*serviceNode, error) {
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: Qualify(name, providerOf(owner.Name))}
	c.graph.depend(owner, ref)
	node := c.service(ref.Name)
	if node.err != nil {
		return nil, because(ref, node.err)
	}
	return node, nil
}

// chain lays the named middlewares flat, in order, for the object that lists them.
func (c *Compiler) chain(owner dynamic.Ref, names []string, provider string) *middlewareNode {
	flat := &middlewareNode{}
	for _, name := range names {
		ref := dynamic.Ref{Kind: dynamic.KindMiddleware, Name: Qualify(name, provider)}
		c.graph.depend(owner, ref)
		member := c.middleware(ref.Name)
		flat.depth = max(flat.depth, member.depth+1)
		if flat.err == nil && member.err != nil {
			flat.err = because(ref, member.err)
		}
		if flat.err = cmp.Or(flat.err, tooMany("middlewares", len(flat.steps)+len(member.steps), maxSteps)); flat.err != nil {
			continue
		}
		flat.names = append(flat.names, member.names...)
		flat.steps = append(flat.steps, member.steps...)
		flat.retains = flat.retains || member.retains
		flat.access = flat.access.before(member.access)
	}
	if flat.err != nil {
		flat.names, flat.steps = nil, nil
	}
	return flat
}
