package index

import (
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/immutable"
)

// node is a part of a radix tree over the bytes of paths. It may be changed only by the edit that made it. The fields
// fill two cache lines, of which a node without children needs only the first.
type node[T any] struct {
	// label is what the path has to continue with to be here.
	label string
	// prefix are the routes whose path prefix ends here, exact those whose path does. Both are in global order.
	prefix []candidate[T]
	exact  []candidate[T]

	branches branches[T]
	edit     *immutable.Edit
}

// own returns the node itself if the edit made it, else a copy. The copy's lists have no spare capacity, so that
// appending copies them.
func (n *node[T]) own(e *immutable.Edit) *node[T] {
	if n.edit == e {
		return n
	}
	return &node[T]{
		label:    n.label,
		prefix:   slices.Clip(n.prefix),
		exact:    slices.Clip(n.exact),
		branches: branches[T]{present: n.branches.present, nodes: slices.Clone(n.branches.nodes)},
		edit:     e,
	}
}

// insert returns the tree with a candidate under a key. The tree may be nil.
func (n *node[T]) insert(e *immutable.Edit, key string, exact bool, c candidate[T]) *node[T] {
	if n == nil {
		n = &node[T]{edit: e, label: key}
	}
	common := commonPrefix(n.label, key)
	n = n.own(e)
	if common < len(n.label) {
		n = n.split(e, common)
	}
	key = key[common:]
	if key == "" {
		list := n.list(exact)
		*list = inserted(*list, c)
		return n
	}
	n.branches.set(key[0], n.child(key[0]).insert(e, key, exact, c))
	return n
}

// split returns a node for the first bytes of an owned node's label, with the rest as its only child.
func (n *node[T]) split(e *immutable.Edit, at int) *node[T] {
	parent := &node[T]{edit: e, label: n.label[:at]}
	n.label = n.label[at:]
	parent.branches.set(n.label[0], n)
	return parent
}

// child returns the child for a byte, or nil.
func (n *node[T]) child(first byte) *node[T] {
	if place, there := n.branches.find(first); there {
		return n.branches.nodes[place]
	}
	return nil
}

// list returns the place of the routes that end in this node.
func (n *node[T]) list(exact bool) *[]candidate[T] {
	if exact {
		return &n.exact
	}
	return &n.prefix
}

// inserted puts a candidate into its place in a sorted list.
func inserted[T any](list []candidate[T], c candidate[T]) []candidate[T] {
	i := len(list)
	if i > 0 && c.before(list[i-1]) {
		i, _ = position(list, c)
	}
	return slices.Insert(list, i, c)
}

// position returns where a candidate is in a sorted list, or where it would be.
func position[T any](list []candidate[T], c candidate[T]) (int, bool) {
	return slices.BinarySearchFunc(list, c, func(x, y candidate[T]) int { return x.route.Compare(y.route) })
}

// remove returns the tree without a candidate, or nil when nothing is left of it.
func (n *node[T]) remove(e *immutable.Edit, key string, exact bool, c candidate[T]) *node[T] {
	if n == nil || !strings.HasPrefix(key, n.label) {
		return n
	}
	n = n.own(e)
	key = key[len(n.label):]
	if key == "" {
		list := n.list(exact)
		if i, found := position(*list, c); found {
			// A fresh list, because the old one may be shared.
			*list = slices.Concat((*list)[:i], (*list)[i+1:])
		}
		return n.pruned(e)
	}
	before := n.child(key[0])
	if before == nil {
		return n
	}
	if after := before.remove(e, key, exact, c); after != nil {
		n.branches.set(key[0], after)
	} else {
		n.branches.remove(key[0])
	}
	return n.pruned(e)
}

// pruned returns what an owned node is good for: nothing, its only child, or itself.
func (n *node[T]) pruned(e *immutable.Edit) *node[T] {
	if len(n.prefix) > 0 || len(n.exact) > 0 || len(n.branches.nodes) > 1 {
		return n
	}
	if len(n.branches.nodes) == 0 {
		return nil
	}
	child := n.branches.nodes[0].own(e)
	child.label = n.label + child.label
	return child
}

func commonPrefix(a, b string) int {
	most := min(len(a), len(b))
	for i := range most {
		if a[i] != b[i] {
			return i
		}
	}
	return most
}
