// Package held knows the requests that hold much memory for their bodies, so that the largest ones can be ended when
// memory is short.
//
// Who buffers bodies adds a request to the [Registry] once it holds [MinBytes], keeps the [Holder] up to date and
// removes it at the end. Smaller requests are not known, and cost nothing.
package held

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// MinBytes is the memory of a request from which on it is added, in bytes.
const MinBytes = 1 << 20

// leastShare is the divisor of all held bytes that gives what EndLargest ends at least: a tenth.
const leastShare = 10

// Registry has the requests that hold much memory. Its methods may be called from any goroutine.
type Registry struct {
	retryAfter time.Duration
	mutex      sync.Mutex
	holders    map[*Holder]struct{}
}

// Holder is one request.
type Holder struct {
	registry *Registry
	end      func() bool
	// bytes is guarded by the mutex of the registry.
	bytes int64
}

// New returns a Registry without requests. retryAfter is when clients of ended requests may try again; 0 or less leaves
// that open.
func New(retryAfter time.Duration) *Registry {
	return &Registry{retryAfter: retryAfter, holders: map[*Holder]struct{}{}}
}

// RetryAfter returns when clients of ended requests may try again, 0 or less if that is open.
func (r *Registry) RetryAfter() time.Duration { return r.retryAfter }

// Add adds a request that holds so many bytes. EndLargest calls end once at most, from its own goroutine and possibly
// after Remove; it must not wait, and reports whether it has ended the request.
func (r *Registry) Add(bytes int64, end func() bool) *Holder {
	h := &Holder{registry: r, end: end, bytes: bytes}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.holders[h] = struct{}{}
	return h
}

// Set sets how many bytes the request holds. It has no effect after Remove.
func (h *Holder) Set(bytes int64) {
	h.registry.mutex.Lock()
	defer h.registry.mutex.Unlock()
	h.bytes = bytes
}

// Remove removes the request. It may be called repeatedly.
func (h *Holder) Remove() {
	h.registry.mutex.Lock()
	defer h.registry.mutex.Unlock()
	delete(h.registry.holders, h)
}

// EndLargest ends the largest requests that together hold at least a tenth of the bytes of all, at least one if there
// is one of MinBytes or more; smaller ones are left alone. It returns how many were ended, and what they held in bytes.
func (r *Registry) EndLargest() (requests int, bytes int64) {
	for _, largest := range r.takeLargest() {
		if largest.end() {
			requests++
			bytes += largest.bytes
		}
	}
	return requests, bytes
}

// ending is a request that is to be ended.
type ending struct {
	bytes int64
	end   func() bool
}

// takeLargest removes the largest requests and returns them.
func (r *Registry) takeLargest() []ending {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var all int64
	holders := make([]*Holder, 0, len(r.holders))
	for h := range r.holders {
		all += h.bytes
		if h.bytes >= MinBytes {
			holders = append(holders, h)
		}
	}
	slices.SortFunc(holders, func(a, b *Holder) int { return cmp.Compare(b.bytes, a.bytes) })
	var largest []ending
	var taken int64
	for _, h := range holders {
		if len(largest) > 0 && taken*leastShare >= all {
			break
		}
		taken += h.bytes
		largest = append(largest, ending{bytes: h.bytes, end: h.end})
		delete(r.holders, h)
	}
	return largest
}
