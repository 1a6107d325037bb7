package index

import (
	"bytes"
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

// descend adds the lists of the nodes that a path runs through.
func (w *walk[T]) descend(n *node[T], path string) {
	for n != nil && len(path) >= len(n.label) && path[:len(n.label)] == n.label {
		path = path[len(n.label):]
		if len(n.prefix) > 0 {
			w.add(n.prefix)
		}
		if path == "" {
			if len(n.exact) > 0 {
				w.add(n.exact)
			}
			return
		}
		i := bytes.IndexByte(n.firsts, path[0])
		if i < 0 {
			return
		}
		n = n.children[i]
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

// next returns the next route in global order, each once, or nil.
func (w *walk[T]) next() *Route[T] {
	for {
		route := w.pop()
		if route == nil || route != w.last {
			w.last = route
			return route
		}
	}
}

// pop returns the next route in global order, or nil. A route in several lists comes several times in a row.
func (w *walk[T]) pop() *Route[T] {
	if w.spilled != nil {
		return w.popSpilled()
	}
	if w.used == 0 {
		return nil
	}
	best := 0
	for i := 1; i < w.used; i++ {
		if w.room[i][0].before(w.room[best][0]) {
			best = i
		}
	}
	route := w.room[best][0].route
	if w.room[best] = w.room[best][1:]; len(w.room[best]) == 0 {
		w.used--
		w.room[best] = w.room[w.used]
	}
	return route
}

// popSpilled is pop for lists in a heap.
func (w *walk[T]) popSpilled() *Route[T] {
	lists := heads[T](*w.spilled)
	if !w.heaped {
		lists.order()
		w.heaped = true
	}
	route, left := lists.pop()
	*w.spilled = left
	return route
}
