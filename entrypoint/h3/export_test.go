package h3

import "net"

// NewGate returns what decides whether a client must prove its address.
func NewGate(rate int, crowded func(net.Addr) bool) func(net.Addr) bool {
	return newGate(rate, crowded).verify
}

// Grow reserves bytes of the receive windows of the process.
func (p *Process) Grow(bytes int64) bool { return p.grow(bytes) }
