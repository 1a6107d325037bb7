package index

// heads is a binary heap of lists, none of them empty: no list begins before the list of its parent.
type heads[T any] [][]candidate[T]

// order makes a heap of lists in any order.
func (h heads[T]) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

// sink restores the heap when only the list at i may begin too late for its place.
func (h heads[T]) sink(i int) {
	for {
		first := 2*i + 1
		if first >= len(h) {
			return
		}
		if first+1 < len(h) && h[first+1][0].before(h[first][0]) {
			first++
		}
		if !h[first][0].before(h[i][0]) {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}

// pop takes the first candidate of all lists, or none, and returns the heap of what is left.
func (h heads[T]) pop() (candidate[T], heads[T]) {
	if len(h) == 0 {
		return candidate[T]{}, h
	}
	c := h[0][0]
	if h[0] = h[0][1:]; len(h[0]) == 0 {
		last := len(h) - 1
		h[0], h[last] = h[last], nil
		h = h[:last]
	}
	h.sink(0)
	return c, h
}
