package entrypoint

import (
	"context"
	"net"
	"strings"
)

// The names of the protocols that every entrypoint serves, as ALPN has them (RFC 7301, section 6).
const (
	protocolHTTP1 = "http/1.1"
	protocolHTTP2 = "h2"
)

// ConnServer serves connections of one protocol. An entrypoint drains all of its servers in the same way:
// EndKeepAlives, then Shutdown within the grace time, then Close.
type ConnServer interface {
	// ServeConn takes a connection over, and closes it. It may return before or after that. The PROXY header has been
	// read, and the TLS handshake is over unless TLS passes through. ctx holds values and does not end before Close has
	// returned.
	ServeConn(ctx context.Context, conn net.Conn)
	// EndKeepAlives has each connection end after what it is busy with. It does not wait, and new connections are still
	// served.
	EndKeepAlives()
	// Shutdown closes idle connections, and returns nil once no connection is left, or the error of ctx when that ends
	// first.
	Shutdown(ctx context.Context) error
	// Close cuts what is left.
	Close() error
}

// PacketServer serves the datagrams that come to the UDP port of an entrypoint, which has the number of its TCP port.
type PacketServer interface {
	// ServePackets reads from conn until conn is closed, and returns then. ctx is that of [ConnServer].
	ServePackets(ctx context.Context, conn net.PacketConn)
	// Shutdown takes no new sessions, and returns nil once none is left, or the error of ctx when that ends first. The
	// entrypoint closes conn afterwards.
	Shutdown(ctx context.Context) error
}

// Protocol is a protocol that an entrypoint serves beside HTTP/1.1 and HTTP/2.
type Protocol struct {
	// Name is unique in an entrypoint. Connections with TLS whose ALPN has chosen it go to Server.
	Name string
	// Sniff looks at the first bytes of connections without TLS, at least one and 1024 at most; nil finds none.
	// Protocols are tried in their order, before HTTP/2. What no protocol matches is HTTP/1.1.
	Sniff func(first []byte) Match
	// Server serves the connections.
	Server ConnServer
}

// Match is what the first bytes of a connection say about a protocol.
type Match uint8

const (
	// NoMatch excludes the protocol.
	NoMatch Match = iota
	// NeedsMore cannot be decided by so few bytes. A connection that sends no more of them within the time of the TLS
	// handshake is closed.
	NeedsMore
	// Matches is the protocol.
	Matches
)

// Passthrough chooses connections with TLS that the entrypoint hands to a [Protocol] as they come, ClientHello
// included.
type Passthrough interface {
	// PassTLS returns the name of the protocol that takes the connection, or "" where TLS ends at the entrypoint.
	PassTLS(hello ClientHello) string
}

// ClientHello is what a client offers at the beginning of TLS (RFC 8446, section 4.1.2).
type ClientHello struct {
	// ServerName is the SNI in lower case without a final dot, or empty.
	ServerName string
	// Protocols are the names in ALPN, in the client's order.
	Protocols []string
}

// preface is what a client of HTTP/2 sends first (RFC 9113, section 3.4). No request of HTTP/1.1 begins like that.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// sniffHTTP2 recognises HTTP/2 with prior knowledge.
func sniffHTTP2(first []byte) Match {
	switch {
	case len(first) >= len(preface) && string(first[:len(preface)]) == preface:
		return Matches
	case len(first) < len(preface) && strings.HasPrefix(preface, string(first)):
		return NeedsMore
	}
	return NoMatch
}
