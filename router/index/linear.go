package index

import "github.com/sluiceproxy/sluice/router/rule"

// Linear evaluates every route in order. It is the reference for [Index] in tests and benchmarks.
type Linear[T any] struct{ order []*Route[T] }

// NewLinear returns the routes in global order. Of routes with one name the last stays.
func NewLinear[T any](routes []*Route[T]) *Linear[T] { return &Linear[T]{order: sorted(routes)} }

// Match returns the first route in global order that takes the request, or nil.
func (l *Linear[T]) Match(req *rule.Request) *Route[T] {
	for _, route := range l.order {
		if route.Rule.Match(req) {
			return route
		}
	}
	return nil
}
