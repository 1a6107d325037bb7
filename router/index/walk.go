package index

import (
	"strings"
	"sync"
)

// walkRoom is how many lists a walk holds on its stack: nested prefixes of three hosts, in any usual configuration.
const walkRoom = 24

// walk merges lists of candidates in global order.
type walk[T any] struct {
	room [walkRoom][]candidate[T]
	used int
	last *Route[T]
	// spilled holds all the lists when they do not fit into room, as a heap once heaped is true.
	spilled *[][]candidate[T]
	heaped  bool
	pool    *sync.Pool
}

// descend adds the lists of the nodes that a path runs through. The first byte of a label is not looked at again below
// the root, because the branch that led there has compared it.
func (w *walk[T]) descend(n *node[T], path string) {
	if n == nil || !strings.HasPrefix(path, n.label) {
		return
	}
	for {
		path = path[len(n.label):]
		if len(n.prefix) > 0 {
			w.add(n.prefix)
		}
		if path == "" {
			break
		}
		place, there := n.branches.find(path[0])
		if !there {
			return
		}
		n = n.branches.nodes[place]
		if len(path) < len(n.label) || path[1:len(n.label)] != n.label[1:] {
			return
		}
	}
	if len(n.exact) > 0 {
		w.add(n.exact)
	}
}

// add takes a list that is not empty.
func (w *walk[T]) add(list []candidate[T]) {
	if w.spilled == nil && w.used < walkRoom {
		w.room[w.used] = list
		w.used++
		return
	}
	if w.spilled == nil {
		w.spilled = w.pool.Get().(*[][]candidate[T])
		*w.spilled = append(*w.spilled, w.room[:]...)
	}
	*w.spilled = append(*w.spilled, list)
}

// next returns the next candidate in global order, each once, or none.
func (w *walk[T]) next() candidate[T] {
	for {
		c := w.pop()
		if c.route == nil || c.route != w.last {
			w.last = c.route
			return c
		}
	}
}

// pop returns the next candidate in global order, or none. One in several lists comes several times in a row.
func (w *walk[T]) pop() candidate[T] {
	if w.spilled != nil {
		return w.popSpilled()
	}
	if w.used == 0 {
		return candidate[T]{}
	}
	best := 0
	for i := 1; i < w.used; i++ {
		if w.room[i][0].before(w.room[best][0]) {
			best = i
		}
	}
	c := w.room[best][0]
	if w.room[best] = w.room[best][1:]; len(w.room[best]) == 0 {
		w.used--
		w.room[best] = w.room[w.used]
	}
	return c
}

// popSpilled is pop for lists in a heap.
func (w *walk[T]) popSpilled() candidate[T] {
	lists := heads[T](*w.spilled)
	if !w.heaped {
		lists.order()
		w.heaped = true
	}
	c, left := lists.pop()
	*w.spilled = left
	return c
}
