package h3

import (
	"crypto/rand"
	"sync/atomic"

	"github.com/quic-go/quic-go"
)

const (
	// streamWindow and connWindow are how many bytes of bodies a client may send at first before a handler has read
	// them, on one stream and on all of a connection. maxStreamWindow and maxConnWindow are what quic-go lets them grow
	// to for clients that fill them: 2 MiB make 160 Mbit/s at a round trip of 100 ms.
	streamWindow, connWindow       = 64 << 10, 128 << 10
	maxStreamWindow, maxConnWindow = 2 << 20, 4 << 20
	// totalWindow is what all connections of the process may have beyond connWindow.
	totalWindow = 128 << 20
	// idBytes is the length of connection identifiers.
	idBytes = 8
)

// Process is what the HTTP/3 servers of one process have in common: the keys of stateless resets and address tokens,
// the generation in connection identifiers, and the budget of receive windows. The keys are random: tokens of another
// process are ignored, and its clients get a reset that they do not recognise, so that they wait for their time-out.
type Process struct {
	generation byte
	resetKey   quic.StatelessResetKey
	tokenKey   quic.TokenGeneratorKey
	// windows is the sum of what receive windows have grown.
	windows atomic.Int64
}

// NewProcess draws the keys.
func NewProcess() *Process {
	p := new(Process)
	var generation [1]byte
	// Read never fails.
	_, _ = rand.Read(generation[:])
	_, _ = rand.Read(p.resetKey[:])
	_, _ = rand.Read(p.tokenKey[:])
	p.generation = generation[0]
	return p
}

// grow reserves bytes of receive windows, and reports whether the budget has room for them.
func (p *Process) grow(bytes int64) bool {
	if p.windows.Add(bytes) <= totalWindow {
		return true
	}
	p.windows.Add(-bytes)
	return false
}

// identifiers generates the connection identifiers of one socket.
type identifiers struct{ generation, socket byte }

// GenerateConnectionID returns a new identifier.
func (i identifiers) GenerateConnectionID() (quic.ConnectionID, error) {
	id := [idBytes]byte{i.generation, i.socket}
	_, err := rand.Read(id[2:])
	return quic.ConnectionIDFromBytes(id[:]), err
}

// ConnectionIDLen returns the length of identifiers.
func (identifiers) ConnectionIDLen() int { return idBytes }
