// Package queue is a bounded lock-free list of values from the goroutines of requests to one goroutine that
// writes them.
//
// In flow values that were filled in by any number of goroutines; out flow, when the writer drains the queue,
// all queued values in order. Written values are recycled, so that a request allocates nothing. Adding never
// blocks: what does not fit is refused, and the caller counts it.
package queue

import (
	"sync"
	"sync/atomic"
)

// Node is one value on its way. Between Take and Push it belongs to the goroutine that took it, between Drain
// and Recycle to the writer.
type Node[T any] struct {
	// Value is what is carried. A recycled node still holds the value that it had.
	Value T
	// size is how many bytes the value counts for while it waits.
	size int64
	next *Node[T]
}

// Limits bound a queue.
type Limits struct {
	// Nodes is the number of values, at least 1.
	Nodes int64
	// Bytes is the sum of their sizes, in bytes. A single value is taken whatever its size when nothing else waits.
	Bytes int64
	// Full is the sum of sizes, in bytes, at which the writer should not wait any longer.
	Full int64
}

// Queue is a bounded list with many producers and one consumer. It is made by New and must not be copied.
type Queue[T any] struct {
	limits Limits
	head   atomic.Pointer[Node[T]]
	nodes  atomic.Int64
	bytes  atomic.Int64
	begun  chan struct{}
	full   chan struct{}
	// spare is a Pool rather than a second list: popping recycled nodes from a lock-free list would meet the
	// same node twice (ABA).
	spare sync.Pool
}

// New returns an empty queue.
func New[T any](limits Limits) *Queue[T] {
	return &Queue[T]{
		limits: limits,
		begun:  make(chan struct{}, 1),
		full:   make(chan struct{}, 1),
		spare:  sync.Pool{New: func() any { return new(Node[T]) }},
	}
}

// Take returns a node to fill in, used before or new.
func (q *Queue[T]) Take() *Node[T] { return q.spare.Get().(*Node[T]) }

// Push leaves a node of that size, in bytes, for the writer. It reports false when too much waits already: the
// node is still the caller's, which may Recycle it.
func (q *Queue[T]) Push(node *Node[T], size int) bool {
	bytes := int64(size)
	if q.nodes.Add(1) > q.limits.Nodes {
		q.nodes.Add(-1)
		return false
	}
	waiting := q.bytes.Add(bytes)
	if waiting > q.limits.Bytes && waiting != bytes {
		q.bytes.Add(-bytes)
		q.nodes.Add(-1)
		return false
	}
	node.size = bytes
	for {
		head := q.head.Load()
		node.next = head
		if q.head.CompareAndSwap(head, node) { // From here on it is the writer's.
			if head == nil {
				wake(q.begun)
			}
			break
		}
	}
	if waiting >= q.limits.Full && waiting-bytes < q.limits.Full {
		wake(q.full)
	}
	return true
}

// wake leaves a signal unless there is one.
func wake(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// Begun receives when something waits that did not before. A signal may be late: Drain may then return nothing.
func (q *Queue[T]) Begun() <-chan struct{} { return q.begun }

// Full receives when as much waits as the writer should take at once. It may be late, as Begun.
func (q *Queue[T]) Full() <-chan struct{} { return q.full }

// Waiting returns how many values wait, or are being pushed.
func (q *Queue[T]) Waiting() int64 { return q.nodes.Load() }

// Drain appends everything that waits to batch, oldest first, and returns it. One goroutine at a time may drain.
func (q *Queue[T]) Drain(batch []*Node[T]) []*Node[T] {
	begin := len(batch)
	var bytes int64
	for node := q.head.Swap(nil); node != nil; {
		bytes += node.size
		batch = append(batch, node)
		node, node.next = node.next, nil
	}
	q.nodes.Add(-int64(len(batch) - begin))
	q.bytes.Add(-bytes)
	for i, j := begin, len(batch)-1; i < j; i, j = i+1, j-1 {
		batch[i], batch[j] = batch[j], batch[i]
	}
	return batch
}

// Recycle gives a node back for a later Take. Its value should hold nothing that is large, or that others need
// collected.
func (q *Queue[T]) Recycle(node *Node[T]) {
	node.next = nil
	q.spare.Put(node)
}
