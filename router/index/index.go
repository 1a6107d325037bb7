package index

import (
	"slices"
	"sync"

	"github.com/sluiceproxy/sluice/router/rule"
)

// Index proposes the routes that may take a request. It is immutable and safe for concurrent use.
type Index[T any] struct {
	order    []*Route[T]
	names    *shards[*Route[T]]
	exact    *shards[*node[T]]
	wildcard *shards[*node[T]]
	any      *node[T]
	linear   int
	// spill recycles the memory of walks that meet more lists than fit on the stack. All updates share it.
	spill *sync.Pool
}

// New returns an index of the routes. Of routes with one name the last stays.
func New[T any](routes []*Route[T]) *Index[T] {
	x := &Index[T]{
		order:    sorted(routes),
		names:    newShards[*Route[T]](),
		exact:    newShards[*node[T]](),
		wildcard: newShards[*node[T]](),
		spill:    &sync.Pool{New: func() any { return new([][]candidate[T]) }},
	}
	e := &edit{}
	for _, route := range x.order {
		x.link(e, route)
	}
	return x
}

// All returns the routes in global order. The slice belongs to the index and must not be changed.
func (x *Index[T]) All() []*Route[T] { return slices.Clip(x.order) }

// Len returns the number of routes.
func (x *Index[T]) Len() int { return len(x.order) }

// LinearCount returns the number of routes that every request has to ask until one takes it, because their rules
// require neither a host nor a path.
func (x *Index[T]) LinearCount() int { return x.linear }

// Route returns the route of a name, or nil.
func (x *Index[T]) Route(name string) *Route[T] { return x.names.get(name) }

// Match returns the first route in global order that takes the request, or nil.
func (x *Index[T]) Match(req *rule.Request) *Route[T] {
	var w walk[T]
	x.begin(&w, req)
	c := w.next()
	for c.route != nil && !c.rule.Match(req) {
		c = w.next()
	}
	x.end(&w)
	return c.route
}

// Walk visits the routes that [Index.Match] would ask, in the same order and by the same walk, with what their rules
// say. It continues behind the first match until there are no more or visit returns false. Routes that the index rules
// out by host or path are not visited.
func (x *Index[T]) Walk(req *rule.Request, visit func(route *Route[T], matched bool) bool) {
	var w walk[T]
	x.begin(&w, req)
	c := w.next()
	for c.route != nil && visit(c.route, c.rule.Match(req)) {
		c = w.next()
	}
	x.end(&w)
}

// begin collects the lists of routes for a request.
func (x *Index[T]) begin(w *walk[T], req *rule.Request) {
	w.pool = x.spill
	if x.exact.size > 0 {
		w.descend(x.exact.get(req.Host), req.Path)
	}
	if x.wildcard.size > 0 {
		if domain := rule.WildcardKey(req.Host); domain != "" {
			w.descend(x.wildcard.get(domain), req.Path)
		}
	}
	w.descend(x.any, req.Path)
}

// end gives back what a walk has borrowed.
func (x *Index[T]) end(w *walk[T]) {
	if w.spilled != nil {
		lists := (*w.spilled)[:cap(*w.spilled)]
		clear(lists)
		*w.spilled = lists[:0]
		x.spill.Put(w.spilled)
	}
}
