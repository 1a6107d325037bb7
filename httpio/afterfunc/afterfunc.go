// Package afterfunc calls functions at the end of a context, without a goroutine that waits and without an allocation.
package afterfunc

import "context"

// Key is the key of the value by which a context leads to the [Context] that it is made of, through any layer of
// values.
type Key struct{}

// Context is a context that takes calls whose memory is the caller's.
type Context interface {
	context.Context
	// AddCall has the function of a call run at the end of the context, in a goroutine of its own.
	AddCall(call *Call)
	// StopCall takes a call out, and reports whether it was still waiting.
	StopCall(call *Call) bool
}

// Call is one function that waits for the end of a context. It is used once.
type Call struct {
	// F is the function. It is nil once it has been called or taken out.
	F              func()
	previous, next *Call
}

// Calls are the calls that wait for the end of one context. The zero value has none. Its user holds a lock.
type Calls struct{ first *Call }

// Add adds a call.
func (c *Calls) Add(call *Call) {
	if call.next = c.first; c.first != nil {
		c.first.previous = call
	}
	c.first = call
}

// Remove takes a call out, and reports whether it was still waiting.
func (c *Calls) Remove(call *Call) bool {
	switch {
	case call.F == nil:
		return false
	case call.previous != nil:
		call.previous.next = call.next
	default:
		c.first = call.next
	}
	if call.next != nil {
		call.next.previous = call.previous
	}
	call.F = nil
	return true
}

// Run runs all calls, each in a goroutine of its own.
func (c *Calls) Run() {
	for call := c.first; call != nil; call = call.next {
		call.Run()
	}
	c.first = nil
}

// Run runs the function in a goroutine of its own.
func (c *Call) Run() {
	go c.F()
	c.F = nil
}
