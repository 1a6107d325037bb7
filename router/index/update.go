package index

import (
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router/rule"
)

// Update returns an index without the routes of the removed names and with the added ones, which replace those of the
// same name. The old index stays as it is, and everything that the change does not touch is shared. Names that are
// not in the index are ignored; a name that is removed and added is added.
func (x *Index[T]) Update(removed []string, added []*Route[T]) *Index[T] {
	added = sorted(added)
	gone := x.gone(removed, added)
	if 2*(len(gone)+len(added)) > x.Len() {
		routes := maps.Collect(x.names.All())
		for _, route := range gone {
			delete(routes, route.Name)
		}
		return New(slices.AppendSeq(added, maps.Values(routes)))
	}
	return x.changed(gone, added)
}

// changed is Update for few routes. Gone holds whatever added replaces.
func (x *Index[T]) changed(gone, added []*Route[T]) *Index[T] {
	next := *x
	e := new(immutable.Edit)
	for _, route := range gone {
		next.unlink(e, route)
	}
	for _, route := range added {
		next.link(e, route)
	}
	return &next
}

// gone returns the routes that leave, each once: the removed and the replaced ones.
func (x *Index[T]) gone(removed []string, added []*Route[T]) []*Route[T] {
	var gone []*Route[T]
	for _, name := range removed {
		if route := x.names.Get(name); route != nil {
			gone = append(gone, route)
		}
	}
	for _, route := range added {
		if old := x.names.Get(route.Name); old != nil {
			gone = append(gone, old)
		}
	}
	slices.SortFunc(gone, (*Route[T]).Compare)
	return slices.Compact(gone)
}

// link puts a route under its keys.
func (x *Index[T]) link(e *immutable.Edit, route *Route[T]) {
	x.names.Set(e, route.Name, route)
	c := candidateOf(route)
	for _, key := range route.Rule.Keys() {
		if key == (rule.Key{}) {
			x.linear++
		}
		if key.PathKind.Normalized() {
			x.normalized++
		}
		x.replace(e, key, func(tree *node[T]) *node[T] { return tree.insert(e, key.Path, key.PathKind.Exact(), c) })
	}
}

// unlink takes a route from under its keys.
func (x *Index[T]) unlink(e *immutable.Edit, route *Route[T]) {
	x.names.Delete(e, route.Name)
	c := candidateOf(route)
	for _, key := range route.Rule.Keys() {
		if key == (rule.Key{}) {
			x.linear--
		}
		if key.PathKind.Normalized() {
			x.normalized--
		}
		x.replace(e, key, func(tree *node[T]) *node[T] { return tree.remove(e, key.Path, key.PathKind.Exact(), c) })
	}
}

// replace changes the tree of a key's host.
func (x *Index[T]) replace(e *immutable.Edit, key rule.Key, change func(*node[T]) *node[T]) {
	var hosts *immutable.Map[string, *node[T]]
	switch key.HostKind {
	case rule.AnyHost:
		x.any = change(x.any)
		return
	case rule.ExactHost:
		hosts = &x.exact
	case rule.WildcardHost:
		hosts = &x.wildcard
	case rule.SuffixHost:
		hosts = &x.suffix
	}
	if tree := change(hosts.Get(key.Host)); tree != nil {
		hosts.Set(e, key.Host, tree)
	} else {
		hosts.Delete(e, key.Host)
	}
}
