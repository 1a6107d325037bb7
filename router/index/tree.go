package index

import (
	"bytes"
	"slices"
	"strings"
)

// node is a part of a radix tree over the bytes of paths. It may be changed only by the edit that made it.
type node[T any] struct {
	edit *edit
	// label is what the path has to continue with to be here.
	label string
	// firsts are the first bytes of the children's labels, in the order of children.
	firsts   []byte
	children []*node[T]
	// prefix are the routes whose path prefix ends here, exact those whose path does. Both are in global order.
	prefix []candidate[T]
	exact  []candidate[T]
}

// own returns the node itself when the edit made it, else a copy. The copy's slices have no spare capacity, so that
// whoever grows one copies it first.
func (n *node[T]) own(e *edit) *node[T] {
	if n.edit == e {
		return n
	}
	return &node[T]{
		edit:     e,
		label:    n.label,
		firsts:   slices.Clip(n.firsts),
		children: slices.Clone(n.children),
		prefix:   slices.Clip(n.prefix),
		exact:    slices.Clip(n.exact),
	}
}

// insert returns the tree with a candidate under a key. The tree may be nil.
func (n *node[T]) insert(e *edit, key string, exact bool, c candidate[T]) *node[T] {
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
	if i := bytes.IndexByte(n.firsts, key[0]); i >= 0 {
		n.children[i] = n.children[i].insert(e, key, exact, c)
		return n
	}
	n.firsts = append(n.firsts, key[0])
	n.children = append(n.children, (*node[T])(nil).insert(e, key, exact, c))
	return n
}

// split returns a node for the first bytes of an owned node's label, with the rest as its only child.
func (n *node[T]) split(e *edit, at int) *node[T] {
	parent := &node[T]{edit: e, label: n.label[:at], firsts: []byte{n.label[at]}, children: []*node[T]{n}}
	n.label = n.label[at:]
	return parent
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
	return slices.BinarySearchFunc(list, c, func(x, y candidate[T]) int { return x.route.compare(y.route) })
}

// remove returns the tree without a candidate, or nil when nothing is left of it.
func (n *node[T]) remove(e *edit, key string, exact bool, c candidate[T]) *node[T] {
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
	i := bytes.IndexByte(n.firsts, key[0])
	if i < 0 {
		return n
	}
	if child := n.children[i].remove(e, key, exact, c); child != nil {
		n.children[i] = child
		return n.pruned(e)
	}
	n.firsts = slices.Concat(n.firsts[:i], n.firsts[i+1:])
	n.children = slices.Concat(n.children[:i], n.children[i+1:])
	return n.pruned(e)
}

// pruned returns what an owned node is good for: nothing, its only child, or itself.
func (n *node[T]) pruned(e *edit) *node[T] {
	if len(n.prefix) > 0 || len(n.exact) > 0 || len(n.children) > 1 {
		return n
	}
	if len(n.children) == 0 {
		return nil
	}
	child := n.children[0].own(e)
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
