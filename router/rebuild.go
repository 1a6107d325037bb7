package router

import (
	"errors"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/index"
)

// change is what a compilation does to one index.
type change struct {
	removed []string
	added   []*index.Route[*Route]
}

// replaced returns the routes of an index that the change takes out.
func (c *change) replaced(of *index.Index[*Route]) []*index.Route[*Route] {
	var routes []*index.Route[*Route]
	for _, name := range c.removed {
		if route := of.Route(name); route != nil {
			routes = append(routes, route)
		}
	}
	for _, one := range c.added {
		if route := of.Route(one.Name); route != nil {
			routes = append(routes, route)
		}
	}
	return routes
}

// rebuild compiles the routers that a change reached and returns the table with their routes exchanged.
func (c *Compiler) rebuild(dirty map[dynamic.Ref]struct{}, final bool) *Table {
	changes := map[indexKey]*change{}
	for _, ref := range sorted(dirty, dynamic.KindRouter) {
		before := c.routers[ref.Name]
		after := c.buildRouter(ref.Name)
		if c.keepsServing(before, after, final) {
			before.late = after.err
			c.waiting = append(c.waiting, ref)
			continue
		}
		note(changes, ref.Name, before, after)
		c.demandsChanged = c.demandsChanged || demandsDiffer(before, after)
		if after == nil {
			delete(c.routers, ref.Name)
			c.instances.drop(ref)
			continue
		}
		c.routers[ref.Name] = after
	}
	return c.table.with(changes, c.tls, c.rebuildTCP(dirty, final))
}

// demandsDiffer reports whether two versions of a router, of which either may be nil, need other certificates.
func demandsDiffer(before, after *routerNode) bool {
	var needed, needs []certificate.Demand
	if before != nil {
		needed = before.demands
	}
	if after != nil {
		needs = after.demands
	}
	return !sameDemands(needed, needs)
}

// keepsServing reports whether a router whose reference is missing keeps its last good handler until the settle window
// is over.
func (c *Compiler) keepsServing(before, after *routerNode, final bool) bool {
	return !final && before != nil && before.err == nil && after != nil && errors.Is(after.err, errMissing)
}

func note(changes map[indexKey]*change, name string, before, after *routerNode) {
	at := func(place placed) *change {
		key := indexKey{place.entrypoint, place.secure}
		if changes[key] == nil {
			changes[key] = &change{}
		}
		return changes[key]
	}
	if before != nil {
		for _, place := range before.routes {
			entry := at(place)
			entry.removed = append(entry.removed, name)
		}
	}
	if after != nil {
		for _, place := range after.routes {
			entry := at(place)
			entry.added = append(entry.added, place.route)
		}
	}
}

// sorted returns the objects of a kind by name.
func sorted(dirty map[dynamic.Ref]struct{}, kind dynamic.Kind) []dynamic.Ref {
	var refs []dynamic.Ref
	for ref := range dirty {
		if ref.Kind == kind {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b dynamic.Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs
}
