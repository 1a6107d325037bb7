package router

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
	"github.com/sluiceproxy/sluice/router/service"
)

// The roles that a service can have below another one.
const (
	roleMain     = "main"
	roleFallback = "fallback"
	roleMirror   = "mirror"
	roleCanary   = "canary"
	roleSubset   = "subset"
	roleAny      = "any"
)

// branch is a child of a service of services.
type branch struct {
	node *serviceNode
	// name is the child's as its parent lists it.
	name string
	// role is what the child is there for; empty where weight decides.
	role    string
	weight  int
	percent int
	// fraction is the share of a mirror that is not given in percent.
	fraction string
	// tag is the tag of a subset.
	tag string
}

// child returns the branch as its parent's handler takes it.
func (b *branch) child() service.Child {
	return service.Child{
		Name: b.name, Handler: b.node.handler, Weight: b.weight, Up: b.node.up, Present: b.node.present,
	}
}

// adopt compiles a child and puts it below node. The option is where node lists it.
func (c *Compiler) adopt(node *serviceNode, option string, child branch) error {
	if child.name == "" {
		return fmt.Errorf("%s names no service", option)
	}
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: Qualify(child.name, providerOf(node.name))}
	c.graph.depend(dynamic.Ref{Kind: dynamic.KindService, Name: node.name}, ref)
	child.node = c.service(ref.Name)
	node.depth, node.size = max(node.depth, child.node.depth+1), node.size+child.node.size+1
	if err := cmp.Or(tooDeep(node.depth), tooMany("services below it", node.size, maxBranches)); err != nil {
		return err
	}
	if child.node.err != nil {
		return because(ref, child.node.err)
	}
	node.selects = node.selects || child.node.selects
	reached := child.node.access
	if child.role == roleMirror { // Its response is discarded, but a request may change the process.
		reached.shows = 0
	} else {
		node.retains = node.retains || child.node.retains
		node.addCookies(child.node.cookies)
	}
	node.access = node.access.beside(reached)
	node.children = append(node.children, child)
	return nil
}

// adoptAll compiles the children of a service that splits by weight.
func (c *Compiler) adoptAll(node *serviceNode, kind string, entries []dynamic.WeightedService) error {
	if len(entries) == 0 {
		return errors.New(kind + ".services is empty")
	}
	for i, entry := range entries {
		weight := 1
		if entry.Weight != nil {
			weight = *entry.Weight
		}
		option := fmt.Sprintf("%s.services[%d]", kind, i)
		if weight < 0 {
			return fmt.Errorf("%s: weight %d is negative", option, weight)
		}
		if err := c.adopt(node, option, branch{name: entry.Name, weight: weight}); err != nil {
			return err
		}
	}
	return nil
}

// state returns what the service of a name keeps from one handler to the next.
func (c *Compiler) state(name string) *service.State {
	state, known := c.rotations[name]
	if !known {
		state = service.NewState()
		c.rotations[name] = state
	}
	return state
}

// served is the handler of a service of services.
type served interface {
	http.Handler
	Up() bool
}

func (n *serviceNode) serve(handler served) { n.handler, n.up = handler, handler.Up }

func (n *serviceNode) offspring() []service.Child {
	children := make([]service.Child, 0, len(n.children))
	for i := range n.children {
		children = append(children, n.children[i].child())
	}
	return children
}

func (c *Compiler) weighted(node *serviceNode, config *dynamic.WeightedRoundRobin) error {
	options := service.WeightedOptions{Name: node.name, HealthCheck: config.HealthCheck != nil, State: c.state(node.name)}
	if config.Sticky != nil && config.Sticky.Cookie != nil {
		var err error
		if options.Cookie, err = branchCookie(node.name, config.Sticky.Cookie); err != nil {
			return fmt.Errorf("weighted.%w", err)
		}
	}
	if err := c.adoptAll(node, "weighted", config.Services); err != nil {
		return err
	}
	if options.Cookie != (sticky.Cookie{}) {
		node.stick("weighted", keyOf(&options.Cookie, config.Sticky.Cookie))
	}
	options.Children = node.offspring()
	node.serve(service.NewWeighted(options))
	return nil
}

func (c *Compiler) highestRandomWeight(node *serviceNode, config *dynamic.HighestRandomWeight) error {
	if err := c.adoptAll(node, "highestRandomWeight", config.Services); err != nil {
		return err
	}
	node.serve(service.NewHighestRandomWeight(service.HighestRandomWeightOptions{
		Name: node.name, Children: node.offspring(), HealthCheck: config.HealthCheck != nil,
	}))
	return nil
}

func (c *Compiler) failover(node *serviceNode, config *dynamic.Failover) error {
	options := service.FailoverOptions{MaxBody: -1, Memory: c.memory}
	if config.Errors != nil {
		var err error
		if options.Status, err = dynamic.ParseStatusCodes(config.Errors.Status); err != nil {
			return fmt.Errorf("failover.errors.%w", err)
		}
		if options.Status.Empty() {
			node.warnings = append(node.warnings, "failover.errors lists no status and has no effect")
		}
		if config.Errors.MaxRequestBodyBytes != nil {
			options.MaxBody = *config.Errors.MaxRequestBodyBytes
		}
	}
	if err := c.adopt(node, "failover.service", branch{name: config.Service, role: roleMain}); err != nil {
		return err
	}
	if err := c.adopt(node, "failover.fallback", branch{name: config.Fallback, role: roleFallback}); err != nil {
		return err
	}
	options.Main, options.Fallback = node.children[0].child(), node.children[1].child()
	node.serve(service.NewFailover(options))
	return nil
}

func (c *Compiler) mirroring(node *serviceNode, config *dynamic.Mirroring) error {
	options := service.MirroringOptions{
		Body: config.MirrorBody == nil || *config.MirrorBody, MaxBody: -1,
		State: c.state(node.name), Carrier: c.options.Mirrors, Memory: c.memory,
	}
	if config.MaxBodySize != nil {
		options.MaxBody = *config.MaxBodySize
	}
	if err := c.adopt(node, "mirroring.service", branch{name: config.Service, role: roleMain}); err != nil {
		return err
	}
	for i, mirror := range config.Mirrors {
		option := fmt.Sprintf("mirroring.mirrors[%d]", i)
		numerator, denominator, err := mirror.Share()
		if err != nil {
			return fmt.Errorf("%s: %w", option, err)
		}
		child := branch{name: mirror.Name, role: roleMirror, percent: mirror.Percent}
		if mirror.Fraction != nil {
			child.fraction = fmt.Sprintf("%d/%d", numerator, denominator)
		}
		if err := c.adopt(node, option, child); err != nil {
			return err
		}
		options.To = append(options.To, service.Mirror{
			Handler: node.children[i+1].node.handler, Numerator: numerator, Denominator: denominator,
		})
	}
	options.Main = node.children[0].child()
	node.serve(service.NewMirroring(options))
	return nil
}
