package router

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
)

// udpPool begins the names of the pools of UDP services, since services of other protocols may have the same name.
const udpPool = "udp:"

type (
	udpServiceNode = layer4Node[datagram.Service]
	udpServices    = layer4Services[datagram.Service, datagram.State]
)

// udpObjects holds what was compiled of the section udp between compilations.
type udpObjects struct {
	routers  map[string]*routerNode
	services *udpServices
	// dialer is the transport of all pools.
	dialer *datagram.Dialer
}

func (c *Compiler) newUDPObjects() udpObjects {
	return udpObjects{
		routers: map[string]*routerNode{}, dialer: datagram.NewDialer(),
		services: &udpServices{
			kind: dynamic.KindUDPService, pool: udpPool, nodes: map[string]*udpServiceNode{},
			rotations: map[string]*datagram.State{}, newRotation: datagram.NewState,
			build: c.buildUDPService,
		},
	}
}

func (c *Compiler) buildUDPService(node *udpServiceNode) error {
	definition := c.source.udpService(node.name)
	if definition == nil {
		return errMissing
	}
	var err error
	if node.kind, err = oneKind(definition.Kinds(), "loadBalancer, weighted"); err != nil {
		return err
	}
	if definition.LoadBalancer != nil {
		return c.udpLoadBalancer(node, definition.LoadBalancer)
	}
	services := c.udp.services
	if err := services.adoptAll(c, node, definition.Weighted.Services); err != nil {
		return err
	}
	children := make([]datagram.Child, 0, len(node.children))
	for _, child := range node.children {
		children = append(children, datagram.Child{Service: child.node.service, Weight: child.weight})
	}
	node.service = datagram.NewWeighted(children, services.rotation(node.name))
	node.up = func() bool {
		return slices.ContainsFunc(node.children, func(b layer4Branch[datagram.Service]) bool {
			return b.weight > 0 && b.node.up()
		})
	}
	return nil
}

// udpLoadBalancer compiles a service that balances sessions over servers.
func (c *Compiler) udpLoadBalancer(node *udpServiceNode, config *dynamic.UDPServersLoadBalancer) error {
	spec := loadbalancer.PoolSpec{Dialer: c.udp.dialer}
	spec.DrainTime, spec.Zone = time.Duration(config.DrainTimeout), zonePolicy(config.ZoneAware)
	var err error
	if config.EndpointSet != "" {
		spec.Servers = []loadbalancer.ServerSpec{{SetKey: config.EndpointSet, Scheme: datagram.Scheme, Weight: 1}}
	} else if spec.Servers, err = serverSpecs(config.Servers, loadbalancer.NewUDPServerSpec, &node.warnings); err != nil {
		return err
	}
	if spec.Strategy, err = layer4Strategy(config.Strategy); err != nil {
		return err
	}
	if spec.Outlier, err = outlier.NewPolicy(nil, config.OutlierDetection); err != nil {
		return fmt.Errorf("loadBalancer.%w", err)
	}
	if err := cmp.Or(
		notNegative("drainTimeout", config.DrainTimeout), notNegative("responses", config.Responses),
	); err != nil {
		return err
	}
	c.udp.services.use(c, node, spec)
	node.service = datagram.NewPool(node.pool, config.Responses)
	return nil
}

// buildUDPRouter compiles one UDP router: its routes are the same on all of its entrypoints.
func (c *Compiler) buildUDPRouter(ref dynamic.Ref) *routerNode {
	definition := c.source.udpRouter(ref.Name)
	if definition == nil {
		return nil
	}
	node := &routerNode{}
	node.packetEntryPoints = c.packetEntryPointsOf(ref, definition.EntryPoints, node)
	service, err := c.udp.services.of(c, ref, definition.Service)
	if node.err = errors.Join(c.source.refused(ref), node.err, err); node.err != nil {
		node.err = firstOf(node.err)
		return node
	}
	node.packets = &datagram.Route{RouterName: ref.Name, Service: service.service}
	return node
}

// packetEntryPointsOf returns the UDP entrypoints of a router that exist.
func (c *Compiler) packetEntryPointsOf(ref dynamic.Ref, declared []string, node *routerNode) []string {
	known := c.options.PacketEntryPoints
	if len(declared) == 0 {
		if len(known) == 0 {
			node.err = &coded{
				code: dynamic.CodeMissingEntryPoint, error: errors.New("there is no UDP entrypoint (an address that ends in /udp)"),
			}
		}
		return known
	}
	var found, missing []string
	code := dynamic.CodeMissingEntryPoint
	for _, name := range declared {
		if foreign(name, ref.Name) {
			if len(missing) == 0 {
				code = dynamic.CodeReferenceNotPermitted
			}
			missing = append(missing, refuseForeign(name))
			continue
		}
		if dynamic.NamesListener(name) {
			c.graph.depend(ref, listenerRef(name))
		}
		listener, is := c.entryPoint(name)
		switch {
		case dynamic.NamesListener(name) && !is:
			missing = append(missing, c.missingListener(name))
		case dynamic.NamesListener(name) && listener.Protocol != "" && !listener.takes(ref.Kind):
			missing = append(missing, listener.refusal(ref.Kind))
		case slices.Contains(known, name) || dynamic.NamesListener(name):
			found = append(found, name)
		case slices.ContainsFunc(c.options.EntryPoints, func(e EntryPoint) bool { return e.Name == name }):
			missing = append(missing, fmt.Sprintf("entrypoint %q is not one for UDP (its address does not end in /udp)", name))
		default:
			reason := fmt.Sprintf("entrypoint %q does not exist", name)
			if nearest, ok := document.Nearest(name, known); ok {
				reason += fmt.Sprintf(", did you mean %q?", nearest)
			}
			missing = append(missing, reason)
		}
	}
	switch {
	case len(found) == 0:
		node.err = &coded{code: code, error: errors.New(strings.Join(missing, "; "))}
	default:
		for _, reason := range missing {
			node.warn(code, reason)
		}
	}
	return found
}

// rebuildUDP compiles the UDP routers that a change reached and returns the table with their routes, which is the same
// table where it reached none.
func (c *Compiler) rebuildUDP(table *Table, dirty map[dynamic.Ref]struct{}, final bool) *Table {
	refs := sorted(dirty, dynamic.KindUDPRouter)
	if len(refs) == 0 && len(c.listeners.changed) == 0 {
		return table
	}
	for _, ref := range refs {
		before := c.udp.routers[ref.Name]
		after := c.buildUDPRouter(ref)
		switch {
		case c.keepsServing(before, after, final):
			before.late = after.err
			c.waiting = append(c.waiting, ref)
		case after == nil:
			delete(c.udp.routers, ref.Name)
		default:
			c.udp.routers[ref.Name] = after
		}
	}
	next := *table
	next.packets, next.overruled = c.packetRoutes()
	next.udpListings = c.listUDP()
	return &next
}

// listUDP returns the UDP routers, by name.
func (c *Compiler) listUDP() []Listing {
	listings := make([]Listing, 0, len(c.udp.routers))
	for _, name := range slices.Sorted(maps.Keys(c.udp.routers)) {
		node := c.udp.routers[name]
		if len(node.packetEntryPoints) == 0 {
			continue // It has no place in the table.
		}
		listing := Listing{
			Name: name, Protocol: "udp", Provider: providerOf(name), EntryPoints: node.packetEntryPoints, Status: "enabled",
		}
		if node.err != nil {
			listing.Status, listing.Reason = "disabled", node.err.Error()
		} else if definition := c.source.udpRouter(name); definition != nil {
			listing.Service = Qualify(definition.Service, listing.Provider)
		}
		listings = append(listings, listing)
	}
	return listings
}

// packetRoutes gives each UDP entrypoint the last one of its routers by name that has no fault, as Traefik does, and
// reports the others.
func (c *Compiler) packetRoutes() (routes map[string]*datagram.Route, overruled []dynamic.Verdict) {
	owners := map[string]string{}
	for name, node := range c.udp.routers {
		for _, entrypoint := range node.packetEntryPoints {
			owner, owned := owners[entrypoint]
			better := node.packets != nil && (!owned || c.udp.routers[owner].packets == nil)
			if alike := owned && (node.packets == nil) == (c.udp.routers[owner].packets == nil); better || !owned ||
				alike && name > owner {
				owners[entrypoint] = name
			}
		}
	}
	routes = map[string]*datagram.Route{}
	for entrypoint, owner := range owners {
		route := c.udp.routers[owner].packets // nil for a router with a fault, whose datagrams are dropped.
		if node := c.listeners.serving(entrypoint); node != nil && route != nil {
			named := *route
			named.EntryPoint = entrypoint
			routes[node.address.String()] = &named
			continue
		}
		routes[entrypoint] = route
	}
	for name, node := range c.udp.routers {
		for _, entrypoint := range node.packetEntryPoints {
			if owner := owners[entrypoint]; owner != name {
				overruled = append(overruled, dynamic.Verdict{
					Ref: dynamic.Ref{Kind: dynamic.KindUDPRouter, Name: name}, Status: dynamic.Degraded,
					Code: dynamic.CodeIneffectiveOption, Reason: fmt.Sprintf("gets no datagram on entrypoint %q: an entrypoint "+
						"has one UDP router, the last one by name, which is %q", entrypoint, owner),
				})
				break
			}
		}
	}
	return routes, overruled
}
