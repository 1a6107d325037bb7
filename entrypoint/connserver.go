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
	protocolHTTP3 = "h3"
)

// protocolTCP is what the directory shows of connections of TCP routers.
const protocolTCP = "tcp"

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

// SessionServer is a PacketServer whose sessions another process can go on with; a datagram.Server is.
type SessionServer interface {
	// Park stops reading, and returns when nothing is read any more, or with the cause of ctx when that ends before. The
	// end of ServePackets waits for Unpark or Leave, one of which follows.
	Park(ctx context.Context) error
	// Unpark reads again.
	Unpark()
	// Leave gives up the sockets and the sessions that were handed over.
	Leave()
}

// PacketServer serves the datagrams that come to an entrypoint.
type PacketServer interface {
	// ServePackets takes over the sockets of one address, among which the system divides the clients, and serves them
	// until ctx ends. Then it ends what is left, closes the sockets and returns nil. It returns an error, and closes the
	// sockets, if it cannot begin.
	ServePackets(ctx context.Context, sockets []net.PacketConn) error
	// Shutdown takes no new sessions, and returns nil once none is left, or the error of ctx when that ends first.
	Shutdown(ctx context.Context) error
}

// match is what the first bytes of a connection say about a protocol.
type match uint8

const (
	// noMatch excludes the protocol.
	noMatch match = iota
	// needsMore cannot be decided by so few bytes.
	needsMore
	// matches is the protocol.
	matches
)

// preface is what a client of HTTP/2 sends first (RFC 9113, section 3.4). No request of HTTP/1.1 begins like that.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// sniffHTTP2 recognises HTTP/2 with prior knowledge.
func sniffHTTP2(first []byte) match {
	switch {
	case len(first) >= len(preface) && string(first[:len(preface)]) == preface:
		return matches
	case len(first) < len(preface) && strings.HasPrefix(preface, string(first)):
		return needsMore
	}
	return noMatch
}

// longestMethod is the length of the longest method by which a request is recognised.
const longestMethod = 20

// sniffHTTP recognises a request of HTTP/1.1 or HTTP/2: a method in capital letters, and behind the space a path, an
// asterisk or a URL, or with CONNECT anything.
func sniffHTTP(first []byte) match {
	end := 0
	for end < len(first) && end <= longestMethod && (first[end] >= 'A' && first[end] <= 'Z' || first[end] == '-') {
		end++
	}
	switch {
	case end == len(first) && end <= longestMethod:
		return needsMore
	case end == 0 || end > longestMethod || first[end] != ' ':
		return noMatch
	case string(first[:end]) == "CONNECT":
		return matches
	}
	switch target := first[end+1:]; {
	case len(target) == 0:
		return needsMore
	case target[0] == '/' || target[0] == '*':
		return matches
	case len(target) < len("http") && strings.HasPrefix("http", string(target)):
		return needsMore
	case len(target) >= len("http") && string(target[:len("http")]) == "http":
		return matches
	}
	return noMatch
}
