package h3

import (
	"net"

	"golang.org/x/net/ipv4"
)

// NewGate returns what decides whether a client must prove its address.
func NewGate(rate int, crowded func(net.Addr) bool) func(net.Addr) bool {
	return newGate(rate, crowded).verify
}

// Grow reserves bytes of the receive windows of the process.
func (p *Process) Grow(bytes int64) bool { return p.grow(bytes) }

// Pack returns a packet as a feed has it.
func Pack(m *ipv4.Message) []byte { return pack(nil, m) }

// Unpack reads a packet of a feed.
func Unpack(packet []byte, m *ipv4.Message) bool { return unpack(packet, m) }

// Router returns what decides which of some packets are the own ones of a server with feeds, and moves them to the
// beginning.
func Router(process *Process, feeds map[int]net.Conn, opening []Opening, dropped func()) func([]ipv4.Message) int {
	s := New(&Config{Process: process, Dropped: dropped})
	s.Adopt(feeds, opening)
	return func(ms []ipv4.Message) int {
		if r := s.intake.routes.Load(); r != nil {
			return r.deliver(ms)
		}
		return len(ms)
	}
}

// OpenFeed returns the two ends of a feed.
func OpenFeed() (source, sink *net.UnixConn, err error) { return openFeed() }

// Identifier returns a new connection identifier.
func (p *Process) Identifier() []byte {
	id, _ := identifiers{p}.GenerateConnectionID()
	return id.Bytes()
}

// Generation returns the generation of the process.
func (p *Process) Generation() int { return int(p.generation) }
