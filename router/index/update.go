package index

import (
	"slices"

	"github.com/sluiceproxy/sluice/router/rule"
)

// Update returns an index without the routes of the removed names and with the added ones, which replace those of the
// same name. The old index stays as it is, and everything that the change does not touch is shared. Names that are
// not in the index are ignored; a name that is removed and added is added.
func (x *Index[T]) Update(removed []string, added []*Route[T]) *Index[T] {
	added = sorted(added)
	gone := x.gone(removed, added)
	if 2*(len(gone)+len(added)) > len(x.order) {
		return New(merged(x.order, gone, added))
	}
	return x.changed(gone, added)
}

// changed is Update for few routes. Both lists are in global order, and gone holds whatever added replaces.
func (x *Index[T]) changed(gone, added []*Route[T]) *Index[T] {
	next := &Index[T]{
		order:    merged(x.order, gone, added),
		names:    x.names.copied(),
		exact:    x.exact.copied(),
		wildcard: x.wildcard.copied(),
		any:      x.any,
		linear:   x.linear,
		spill:    x.spill,
	}
	e := &edit{}
	for _, route := range gone {
		next.unlink(e, route)
	}
	for _, route := range added {
		next.link(e, route)
	}
	return next
}

// gone returns, in global order, the routes that leave: the removed and the replaced ones.
func (x *Index[T]) gone(removed []string, added []*Route[T]) []*Route[T] {
	var gone []*Route[T]
	for _, name := range removed {
		if route := x.names.get(name); route != nil {
			gone = append(gone, route)
		}
	}
	for _, route := range added {
		if old := x.names.get(route.Name); old != nil {
			gone = append(gone, old)
		}
	}
	slices.SortFunc(gone, (*Route[T]).Compare)
	return slices.Compact(gone)
}

// merged returns a sorted list without some of its routes and with others; all lists are in global order.
func merged[T any](order, gone, added []*Route[T]) []*Route[T] {
	result := make([]*Route[T], 0, len(order)-len(gone)+len(added))
	for len(gone) > 0 || len(added) > 0 {
		leaves := len(added) == 0 || len(gone) > 0 && gone[0].Compare(added[0]) <= 0
		if leaves {
			i, _ := slices.BinarySearchFunc(order, gone[0], (*Route[T]).Compare)
			result = append(result, order[:i]...)
			order, gone = order[i+1:], gone[1:]
			continue
		}
		i, _ := slices.BinarySearchFunc(order, added[0], (*Route[T]).Compare)
		result = append(append(result, order[:i]...), added[0])
		order, added = order[i:], added[1:]
	}
	return append(result, order...)
}

// link puts a route under its keys.
func (x *Index[T]) link(e *edit, route *Route[T]) {
	x.names.set(e, route.Name, route)
	c := candidateOf(route)
	for _, key := range route.Rule.Keys() {
		if key == (rule.Key{}) {
			x.linear++
		}
		exact := key.PathKind == rule.ExactPath
		x.replace(e, key, func(tree *node[T]) *node[T] { return tree.insert(e, key.Path, exact, c) })
	}
}

// unlink takes a route from under its keys.
func (x *Index[T]) unlink(e *edit, route *Route[T]) {
	x.names.remove(e, route.Name)
	c := candidateOf(route)
	for _, key := range route.Rule.Keys() {
		if key == (rule.Key{}) {
			x.linear--
		}
		exact := key.PathKind == rule.ExactPath
		x.replace(e, key, func(tree *node[T]) *node[T] { return tree.remove(e, key.Path, exact, c) })
	}
}

// replace changes the tree of a key's host.
func (x *Index[T]) replace(e *edit, key rule.Key, change func(*node[T]) *node[T]) {
	var hosts *shards[*node[T]]
	switch key.HostKind {
	case rule.AnyHost:
		x.any = change(x.any)
		return
	case rule.ExactHost:
		hosts = x.exact
	case rule.WildcardHost:
		hosts = x.wildcard
	}
	if tree := change(hosts.get(key.Host)); tree != nil {
		hosts.set(e, key.Host, tree)
	} else {
		hosts.remove(e, key.Host)
	}
}
