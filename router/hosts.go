package router

import (
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
)

// hosts holds the TLS options of the hosts that the rules of an entrypoint name, exact, *.example.com or
// **.example.com, as [rule.Rule.Domains] has them. It is immutable.
type hosts struct {
	known immutable.Map[string, *host]
	// conflicting are those of known that have conflicts.
	conflicting immutable.Map[string, *host]
	// suffixes is how many of known stand for all hosts below a domain.
	suffixes int
}

// host is a host that rules name. It is immutable.
type host struct {
	// routes are those that name the host, in order.
	routes []*index.Route[*Route]
	// options are nil where those of the routes cannot be used.
	options   *certificate.Options
	conflicts []conflict
}

// conflict is a route that has other TLS options for a host than the route that decides.
type conflict struct {
	name, other, host string
}

// find returns the TLS options of a host: exact, then the wildcard of one label, then the longest suffix. It is not
// ok where no rule names any.
func (h hosts) find(name string) (options *certificate.Options, ok bool) {
	if one, known := h.known.Find(name); known {
		return one.options, true
	}
	if parent := rule.WildcardKey(name); parent != "" && !h.known.IsZero() {
		if one, known := h.known.Find("*." + parent); known {
			return one.options, true
		}
	}
	if h.suffixes > 0 {
		for domain := range rule.Parents(name) {
			if one, known := h.known.Find(rule.SuffixMark + domain); known {
				return one.options, true
			}
		}
	}
	return nil, false
}

// update returns the hosts after an exchange of routes. Bind returns the options as the entrypoint has them; all says
// that it returns others than before.
func (h hosts) update(
	removed, added []*index.Route[*Route], bind func(*certificate.Options) *certificate.Options, all bool,
) hosts {
	touched := map[string][]*index.Route[*Route]{}
	gone := make(map[*index.Route[*Route]]struct{}, len(removed))
	for _, route := range removed {
		gone[route] = struct{}{}
		for _, name := range route.Value.domains {
			touched[name] = nil
		}
	}
	for _, route := range added {
		for _, name := range route.Value.domains {
			touched[name] = append(touched[name], route)
		}
	}
	if all {
		for name := range h.known.Keys() {
			if _, known := touched[name]; !known {
				touched[name] = nil
			}
		}
	}
	e := new(immutable.Edit)
	for name, more := range touched {
		var routes []*index.Route[*Route]
		if before := h.known.Get(name); before != nil {
			routes = slices.DeleteFunc(slices.Clone(before.routes), func(route *index.Route[*Route]) bool {
				_, left := gone[route]
				return left
			})
		}
		h.set(e, name, merged(routes, more), bind)
	}
	return h
}

// set gives a host its routes, which are in order.
func (h *hosts) set(
	e *immutable.Edit, name string, routes []*index.Route[*Route], bind func(*certificate.Options) *certificate.Options,
) {
	_, before := h.known.Find(name)
	if strings.HasPrefix(name, rule.SuffixMark) && before != (len(routes) > 0) {
		if before {
			h.suffixes--
		} else {
			h.suffixes++
		}
	}
	if len(routes) == 0 {
		h.known.Delete(e, name)
		h.conflicting.Delete(e, name)
		return
	}
	next := &host{routes: routes}
	decider := ""
	for _, route := range routes {
		switch options := route.Value.tls; {
		case options == nil: // Options that cannot be used do not decide.
		case decider == "":
			decider, next.options = route.Name, bind(options)
		case next.options.Fingerprint != options.Fingerprint:
			next.conflicts = append(next.conflicts, conflict{name: route.Name, other: decider, host: name})
		}
	}
	h.known.Set(e, name, next)
	if len(next.conflicts) > 0 {
		h.conflicting.Set(e, name, next)
	} else {
		h.conflicting.Delete(e, name)
	}
}

// merged inserts routes into a list that is in order, and returns it.
func merged(list, more []*index.Route[*Route]) []*index.Route[*Route] {
	if len(more) > len(list) {
		list = append(list, more...)
		slices.SortFunc(list, (*index.Route[*Route]).Compare)
		return list
	}
	for _, route := range more {
		at, _ := slices.BinarySearchFunc(list, route, (*index.Route[*Route]).Compare)
		list = slices.Insert(list, at, route)
	}
	return list
}

// conflicts returns, by router, the conflict for the first host in order.
func (h hosts) conflicts() map[string]conflict {
	first := map[string]conflict{}
	for _, one := range h.conflicting.All() {
		for _, next := range one.conflicts {
			if known, again := first[next.name]; !again || next.host < known.host {
				first[next.name] = next
			}
		}
	}
	return first
}
