package index

import "github.com/sluiceproxy/sluice/router/rule"

// Linear asks every route in order. It is what an [Index] has to agree with, and what it is measured against.
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
