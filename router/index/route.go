package index

import (
	"cmp"
	"slices"

	"github.com/sluiceproxy/sluice/router/rule"
)

// Route is one rule with its place in the order and whatever it leads to. It must not change once it is in an index.
type Route[T any] struct {
	// Name identifies the route among all others of its index.
	Name string
	// Rule decides which requests the route takes; it is never nil.
	Rule *rule.Rule
	// Priority orders routes first, higher ones win.
	Priority int
	// Precedence orders routes of equal priority, lower ones win; it is the rank of the provider.
	Precedence int
	// Value is what the route leads to.
	Value T
}

// compare orders routes by priority down, precedence up and name up; it is 0 only for equal names.
func (r *Route[T]) compare(other *Route[T]) int {
	return cmp.Or(
		cmp.Compare(other.Priority, r.Priority),
		cmp.Compare(r.Precedence, other.Precedence),
		cmp.Compare(r.Name, other.Name),
	)
}

// candidate is a route in a sorted list, with what a walk needs of it at hand, so that the route itself is fetched
// from memory only when it wins.
type candidate[T any] struct {
	priority int
	rule     *rule.Rule
	route    *Route[T]
}

func candidateOf[T any](route *Route[T]) candidate[T] {
	return candidate[T]{priority: route.Priority, rule: route.Rule, route: route}
}

// before reports whether c comes first in the global order.
func (c candidate[T]) before(other candidate[T]) bool {
	if c.priority != other.priority {
		return c.priority > other.priority
	}
	return c.route.compare(other.route) < 0
}

// sorted returns the routes in global order. Of routes with one name the last stays.
func sorted[T any](routes []*Route[T]) []*Route[T] {
	last := make(map[string]*Route[T], len(routes))
	for _, route := range routes {
		last[route.Name] = route
	}
	kept := make([]*Route[T], 0, len(last))
	for _, route := range routes {
		if last[route.Name] == route {
			kept = append(kept, route)
			delete(last, route.Name)
		}
	}
	slices.SortFunc(kept, (*Route[T]).compare)
	return kept
}
