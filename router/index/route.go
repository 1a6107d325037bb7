package index

import (
	"cmp"
	"slices"
	"time"

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
	// Precedence orders routes of equal priority, see [ComparePrecedence].
	Precedence []int64
	// Created orders routes of equal precedence, older ones win. The zero time is the oldest.
	Created time.Time
	// Provider orders routes that are of the same time, lower ones win; it is the rank of the provider.
	Provider int
	// Value is what the route leads to.
	Value T
}

// Compare returns a negative number when r comes before other in the global order: by priority down, precedence down,
// creation time up, rank of the provider up and name up. It is 0 only for equal names.
func (r *Route[T]) Compare(other *Route[T]) int {
	if order := cmp.Compare(other.Priority, r.Priority); order != 0 {
		return order
	}
	if order := ComparePrecedence(r.Precedence, other.Precedence); order != 0 {
		return order
	}
	if order := r.Created.Compare(other.Created); order != 0 {
		return order
	}
	if order := cmp.Compare(r.Provider, other.Provider); order != 0 {
		return order
	}
	return cmp.Compare(r.Name, other.Name)
}

// ComparePrecedence compares keys from the first one on, of which the larger comes first; a missing key counts as 0. It
// is negative when a comes before b.
func ComparePrecedence(a, b []int64) int {
	for i := range max(len(a), len(b)) {
		if order := cmp.Compare(keyAt(b, i), keyAt(a, i)); order != 0 {
			return order
		}
	}
	return 0
}

func keyAt(keys []int64, i int) int64 {
	if i < len(keys) {
		return keys[i]
	}
	return 0
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
	return c.route.Compare(other.route) < 0
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
	slices.SortFunc(kept, (*Route[T]).Compare)
	return kept
}
