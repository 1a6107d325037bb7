package router

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/index"
)

// change is what a compilation does to one index.
type change struct {
	removed []string
	added   []*index.Route[*Route]
}

// rebuild compiles the routers that a change reached and returns the table with their routes exchanged.
func (c *Compiler) rebuild(dirty map[dynamic.Ref]struct{}, settled bool) *Table {
	changes := map[indexKey]*change{}
	for _, ref := range sortedRouters(dirty) {
		before := c.routers[ref.Name]
		after := c.buildRouter(ref.Name)
		if c.keepsServing(before, after, settled) {
			before.late = after.err
			c.waiting = append(c.waiting, ref)
			continue
		}
		note(changes, ref.Name, before, after)
		if after == nil {
			delete(c.routers, ref.Name)
			continue
		}
		c.routers[ref.Name] = after
	}
	return c.table.with(changes, c.tls)
}

// keepsServing tells whether a router whose reference is missing goes on as it last served, until the change settles.
func (c *Compiler) keepsServing(before, after *routerNode, settled bool) bool {
	return !settled && before != nil && before.err == nil && after != nil && errors.Is(after.err, errMissing)
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

func sortedRouters(dirty map[dynamic.Ref]struct{}) []dynamic.Ref {
	var refs []dynamic.Ref
	for ref := range dirty {
		if ref.Kind == dynamic.KindRouter {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b dynamic.Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs
}

// verdicts collects every object that is not accepted, in the order of kind and name.
func (c *Compiler) verdicts() []dynamic.Verdict {
	found := map[dynamic.Ref]dynamic.Verdict{}
	for _, verdict := range c.source.config.Verdicts {
		if verdict.Status != dynamic.Accepted {
			found[verdict.Ref] = verdict
		}
	}
	report := func(kind dynamic.Kind, name string, err error, warnings []string) {
		ref := dynamic.Ref{Kind: kind, Name: name}
		if _, known := found[ref]; known || (err == nil && len(warnings) == 0) {
			return
		}
		verdict := dynamic.Verdict{Ref: ref, Origin: c.source.config.Origins[ref], Status: dynamic.Degraded}
		verdict.Reason = strings.Join(warnings, "; ")
		if err != nil {
			verdict.Status, verdict.Reason = dynamic.Quarantined, err.Error()
		}
		found[ref] = verdict
	}
	for name, node := range c.middlewares {
		if c.source.middleware(name) != nil {
			report(dynamic.KindMiddleware, name, node.err, nil)
		}
	}
	for name, node := range c.transports {
		if c.source.transport(name) != nil || name == DefaultTransport {
			report(dynamic.KindServersTransport, name, node.err, nil)
		}
	}
	for name, node := range c.services {
		if c.source.service(name) != nil {
			report(dynamic.KindService, name, node.err, node.warnings)
		}
	}
	for name, node := range c.routers {
		report(dynamic.KindRouter, name, cmp.Or(node.err, node.late), node.warnings)
	}
	for _, verdict := range append(c.tls.verdicts(c.source), c.table.conflictVerdicts(c.source.config.Origins)...) {
		if _, known := found[verdict.Ref]; !known {
			found[verdict.Ref] = verdict
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b dynamic.Verdict) int {
		return strings.Compare(a.Ref.String(), b.Ref.String())
	})
}
