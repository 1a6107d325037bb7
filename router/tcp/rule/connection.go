package rule

import (
	"net/netip"
	"strings"
	"unicode/utf8"
)

// Connection is what rules decide: the facts about a TCP connection that are known before it goes anywhere. Its fields
// must be normalised as [NewConnection] does; rules only compare.
type Connection struct {
	// ServerName is the name of the server that a TLS client asks for (SNI, RFC 6066, section 3) in lower case without a
	// trailing dot. It is empty without TLS and for clients that name none.
	ServerName string
	// Protocols are the application protocols that a TLS client offers (ALPN, RFC 7301), as sent.
	Protocols []string
	// Client is the address of the client; behind the PROXY protocol that is the one its header names. The zero Addr
	// matches no ClientIP.
	Client netip.Addr
}

// NewConnection normalises the facts about a connection. It allocates only for a server name with letters in upper
// case.
func NewConnection(serverName string, protocols []string, client netip.Addr) Connection {
	return Connection{ServerName: normalised(serverName), Protocols: protocols, Client: client.Unmap()}
}

// normalised returns a server name in lower case without a trailing dot. One with characters outside ASCII stays as it
// is: folding their case could make it the name of a host.
func normalised(serverName string) string {
	for i := range len(serverName) {
		if serverName[i] >= utf8.RuneSelf {
			return serverName
		}
	}
	return strings.ToLower(strings.TrimSuffix(serverName, "."))
}
