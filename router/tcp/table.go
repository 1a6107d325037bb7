package tcp

import (
	"slices"

	"github.com/sluiceproxy/sluice/router/rule/expression"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

// Table finds the route of a connection in time that is nearly independent of the number of routes whose rules require
// a host. It is immutable and safe for concurrent use. The zero value has no routes.
type Table[T any] struct {
	// routes are in global order.
	routes []*Route[T]
	// exact and wildcard have the routes that may take a connection by its server name and by the server name without its
	// first label; rest has those that are found only by evaluating them.
	exact, wildcard map[string][]candidate
	rest            []candidate
}

// candidate is a route with its number in the global order.
type candidate struct {
	rule  *rule.Rule
	place int
}

// NewTable makes a table of routes, which it does not keep as a slice.
func NewTable[T any](routes []*Route[T]) *Table[T] {
	t := &Table[T]{
		routes: slices.SortedStableFunc(slices.Values(routes), (*Route[T]).Compare),
		exact:  make(map[string][]candidate), wildcard: make(map[string][]candidate),
	}
	for place, route := range t.routes {
		c := candidate{rule: route.Rule, place: place}
		for _, key := range route.Rule.Keys() {
			switch key.Kind {
			case expression.ExactHost:
				t.exact[key.Host] = append(t.exact[key.Host], c)
			case expression.WildcardHost:
				t.wildcard[key.Host] = append(t.wildcard[key.Host], c)
			default:
				t.rest = append(t.rest, c)
			}
		}
	}
	return t
}

// Routes returns the routes in global order. The slice must not be changed.
func (t *Table[T]) Routes() []*Route[T] { return t.routes }

// Match returns the first route in global order whose rule accepts the connection, or nil. It takes no lock and
// allocates nothing.
func (t *Table[T]) Match(c *rule.Connection) *Route[T] {
	lists := [...][]candidate{t.exact[c.ServerName], t.wildcard[expression.WildcardKey(c.ServerName)], t.rest}
	for {
		first := -1
		for i, list := range lists {
			if len(list) > 0 && (first < 0 || list[0].place < lists[first][0].place) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		if next := lists[first][0]; next.rule.Match(c) {
			return t.routes[next.place]
		}
		lists[first] = lists[first][1:]
	}
}
