package index

import "github.com/sluiceproxy/sluice/router/rule"

// linear evaluates every route in order. It is the reference for [Index].
type linear[T any] struct{ order []*Route[T] }

// newLinear returns the routes in global order. Of routes with one name the last stays.
func newLinear[T any](routes []*Route[T]) *linear[T] { return &linear[T]{order: sorted(routes)} }

// Match returns the first route in global order that takes the request, or nil.
func (l *linear[T]) Match(req *rule.Request) *Route[T] {
	for _, route := range l.order {
		if route.Rule.Match(req) {
			return route
		}
	}
	return nil
}
