package gateway

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// kindUsesOf are the Gateways whose routes lead to a Service.
const kindUsesOf = "UsesOf"

// counts are what routes attach to and lead to, in numbers of routes.
type counts struct {
	routes map[routeKey]*routeCounts
	// uses is the number of routes of each Gateway that lead to a Service.
	uses map[types.NamespacedName]map[types.NamespacedName]int
}

// routeKey names a route.
type routeKey struct {
	kind string
	types.NamespacedName
}

// routeCounts is what is counted of one route, each once and in no order.
type routeCounts struct {
	listeners          []listenerKey
	gateways, services []types.NamespacedName
}

// keysOf returns the keys of a set, in the memory that they need.
func keysOf[K comparable](set map[K]struct{}) []K {
	return slices.AppendSeq(make([]K, 0, len(set)), maps.Keys(set))
}

func newCounts() *counts {
	return &counts{
		routes: map[routeKey]*routeCounts{}, uses: map[types.NamespacedName]map[types.NamespacedName]int{},
	}
}

// set counts a route in place of what was counted of it; without listeners it is not counted.
func (c *counts) set(
	p *Provider, kind string, name types.NamespacedName,
	listeners map[listenerKey]struct{}, gateways, services map[types.NamespacedName]struct{},
) {
	key := routeKey{kind, name}
	before := c.routes[key]
	if before == nil {
		before = &routeCounts{}
	}
	for listener := range listeners {
		if !slices.Contains(before.listeners, listener) {
			p.statuses.attach(listener, 1)
		}
	}
	for _, listener := range before.listeners {
		if _, still := listeners[listener]; !still {
			p.statuses.attach(listener, -1)
		}
	}
	next := &routeCounts{keysOf(listeners), keysOf(gateways), keysOf(services)}
	c.use(p, next, 1)
	c.use(p, before, -1)
	if len(listeners) == 0 {
		delete(c.routes, key)
		return
	}
	c.routes[key] = next
}

// use changes the numbers of routes that lead to Services, and has the policies of those translated again whose
// Gateways have changed.
func (c *counts) use(p *Provider, of *routeCounts, change int) {
	for _, service := range of.services {
		for _, gateway := range of.gateways {
			if c.uses[service] == nil {
				c.uses[service] = map[types.NamespacedName]int{}
			}
			before := c.uses[service][gateway]
			c.uses[service][gateway] = before + change
			if before+change == 0 {
				delete(c.uses[service], gateway)
			}
			if before == 0 || before+change == 0 {
				p.retouch(virtual(kindUsesOf, service))
			}
		}
		if len(c.uses[service]) == 0 {
			delete(c.uses, service)
		}
	}
}

// gatewaysOf returns the Gateways whose routes lead to a Service, in no order.
func (c *counts) gatewaysOf(service types.NamespacedName) []types.NamespacedName {
	var all []types.NamespacedName
	for gateway := range c.uses[service] {
		all = append(all, gateway)
	}
	return all
}
