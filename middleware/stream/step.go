package stream

import "net/netip"

// Step is a TCP middleware.
type Step interface {
	// Admit counts a connection in. What it returns is called when the connection ends, and may be nil. The refusal is
	// empty for a connection that is admitted, and otherwise says why it is not, for logs.
	Admit(client netip.Addr) (release func(), refusal string)
}
