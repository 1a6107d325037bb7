package status

import (
	"container/heap"
	"time"
)

const (
	// gather is how long changes of one object are collected before the first write.
	gather = 50 * time.Millisecond
	// firstPause is the time between two writes of one object whose status keeps changing; it doubles with each up to
	// longestPause. An object that has not changed for quiet is written earlier, after many writes for longQuiet.
	firstPause, longestPause = 250 * time.Millisecond, 20 * time.Second
	quiet, longQuiet         = 300 * time.Millisecond, time.Second
	// manyWrites is the number of writes in a row after which longQuiet applies.
	manyWrites = 7
	// forget is how long an object must not have been written for its writes to count anew.
	forget = 30 * time.Second

	// firstRestore is the pause before a status that another writer has changed is written again; it doubles with each
	// time up to longestRestore.
	firstRestore, longestRestore = time.Second, 5 * time.Minute
	// manyRestores is the number of restorations of one status that is worth a line in the log.
	manyRestores = 5
	// settled is how long a status must have stayed for its restorations to count anew.
	settled = 30 * time.Minute
)

// object is one object whose status is written. The mutex of its Writer guards it.
type object struct {
	desired *Desired
	// index is its place in the heap of its lane, -1 outside, and due when it is its turn.
	index int
	due   time.Time
	// busy says that it is being written, again that something has changed since that began.
	busy, again, gone bool

	// changed is when the desired status changed last, since when it changed first after the last write.
	changed, since time.Time
	// wrote is when it was written last, writes how often in a row, over the version that the watch had then, and version
	// the one that the write made.
	wrote         time.Time
	writes        int
	over, version string
	// complete says that the desired status was written or found, restores how often it was written again since.
	complete bool
	restores int
	// failures in a row.
	failures int
}

// ready returns when the desired status is written, so that the writes of an object with constant changes become fewer
// while the last of its changes is written soon.
func (o *object) ready() time.Time {
	if o.writes == 0 {
		return o.since.Add(gather)
	}
	pause := doubled(firstPause, o.writes, longestPause)
	still := quiet
	if o.writes >= manyWrites {
		still = longQuiet
	}
	at := o.wrote.Add(pause)
	if early := o.changed.Add(still); early.Before(at) {
		at = early
	}
	if soonest := o.since.Add(gather); at.Before(soonest) {
		at = soonest
	}
	return at
}

// restore returns when a status that another writer has changed is written again.
func (o *object) restore() time.Time {
	return o.wrote.Add(doubled(firstRestore, o.restores, longestRestore))
}

// doubled returns a duration doubled n times, at most limit.
func doubled(first time.Duration, n int, limit time.Duration) time.Duration {
	for range n {
		if first *= 2; first >= limit {
			return limit
		}
	}
	return first
}

// lane is a heap of objects, the earliest first.
type lane []*object

// Len implements heap.Interface.
func (l *lane) Len() int { return len(*l) }

// Less implements heap.Interface.
func (l *lane) Less(i, j int) bool { return (*l)[i].due.Before((*l)[j].due) }

// Swap implements heap.Interface.
func (l *lane) Swap(i, j int) {
	(*l)[i], (*l)[j] = (*l)[j], (*l)[i]
	(*l)[i].index, (*l)[j].index = i, j
}

// Push implements heap.Interface.
func (l *lane) Push(one any) {
	added := one.(*object)
	added.index = len(*l)
	*l = append(*l, added)
}

// Pop implements heap.Interface.
func (l *lane) Pop() any {
	last := len(*l) - 1
	one := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	one.index = -1
	return one
}

// put adds an object or moves it to its new time.
func (l *lane) put(one *object, due time.Time) {
	one.due = due
	if one.index >= 0 {
		heap.Fix(l, one.index)
		return
	}
	heap.Push(l, one)
}

// remove takes an object out, if it is in.
func (l *lane) remove(one *object) {
	if one.index >= 0 {
		heap.Remove(l, one.index)
	}
}

// first returns the earliest object without taking it; nil when there is none.
func (l *lane) first() *object {
	if len(*l) == 0 {
		return nil
	}
	return (*l)[0]
}
