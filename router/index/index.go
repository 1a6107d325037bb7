package index

import (
	"iter"
	"slices"
	"sync"

	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router/rule"
)

// Index proposes the routes that may take a request. It is immutable and safe for concurrent use.
type Index[T any] struct {
	names    immutable.Map[string, *Route[T]]
	exact    immutable.Map[string, *node[T]]
	wildcard immutable.Map[string, *node[T]]
	suffix   immutable.Map[string, *node[T]]
	any      *node[T]
	linear   int
	// normalized is the number of keys of normalised paths. They are in the same trees as the others.
	normalized int
	// spill recycles the memory of walks that meet more lists than fit on the stack. All updates share it.
	spill *sync.Pool
}

// New returns an index of the routes. Of routes with one name the last stays.
func New[T any](routes []*Route[T]) *Index[T] {
	x := &Index[T]{spill: &sync.Pool{New: func() any { return new([][]candidate[T]) }}}
	e := new(immutable.Edit)
	for _, route := range sorted(routes) {
		x.link(e, route)
	}
	return x
}

// All returns a list of the routes in global order. It sorts them, so that an update need not.
func (x *Index[T]) All() []*Route[T] {
	routes := make([]*Route[T], 0, x.Len())
	for _, route := range x.names.All() {
		routes = append(routes, route)
	}
	slices.SortFunc(routes, (*Route[T]).Compare)
	return routes
}

// Names yields the names of the routes, in no order.
func (x *Index[T]) Names() iter.Seq[string] { return x.names.Keys() }

// Len returns the number of routes.
func (x *Index[T]) Len() int { return x.names.Len() }

// LinearCount returns the number of routes that are candidates for every request, because their rules require neither a
// host nor a path.
func (x *Index[T]) LinearCount() int { return x.linear }

// Route returns the route of a name, or nil.
func (x *Index[T]) Route(name string) *Route[T] { return x.names.Get(name) }

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

// Walk visits the routes that [Index.Match] would evaluate, in the same order, with their results. It continues behind
// the first match until there are no more or visit returns false. Routes that the index excludes by host or path are
// not visited.
func (x *Index[T]) Walk(req *rule.Request, visit func(route *Route[T], matched bool) bool) {
	var w walk[T]
	x.begin(&w, req)
	c := w.next()
	for c.route != nil && visit(c.route, c.rule.Match(req)) {
		c = w.next()
	}
	x.end(&w)
}

// begin collects the lists of routes for a request. It looks for the normalised path, too, where that is another one:
// then routes may be proposed whose keys are of the other path.
func (x *Index[T]) begin(w *walk[T], req *rule.Request) {
	w.pool = x.spill
	x.descend(w, req, req.Path)
	if x.normalized > 0 {
		if path := req.Normalized(); path != req.Path {
			x.descend(w, req, path)
		}
	}
}

// descend collects the lists of routes for the host of a request and a path.
func (x *Index[T]) descend(w *walk[T], req *rule.Request, path string) {
	if x.exact.Len() > 0 {
		w.descend(x.exact.Get(req.Host), path)
	}
	if x.wildcard.Len() > 0 {
		if domain := rule.WildcardKey(req.Host); domain != "" {
			w.descend(x.wildcard.Get(domain), path)
		}
	}
	if x.suffix.Len() > 0 {
		for domain := range rule.Parents(req.Host) {
			w.descend(x.suffix.Get(domain), path)
		}
	}
	w.descend(x.any, path)
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
