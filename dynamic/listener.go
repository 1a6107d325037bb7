package dynamic

import (
	"strings"
	"time"
)

// ListenersConfiguration holds what a provider declares of its own entrypoints. It is no section of files or labels.
type ListenersConfiguration struct {
	Listeners Objects[Listener]
}

// Listener is an entrypoint that a provider declares while Sluice runs. Routers, TLS options and certificates of the
// same provider name it in their entryPoints, as listener@provider; those of other providers cannot. It presents no
// other certificates than those that name it. The listeners of one address share its socket: the hostname of a
// connection or request selects one of them, and only the routers of that one are considered.
type Listener struct {
	// Address is where the socket listens, as host:port or :port; the host is an IP address. Listeners of TCP and of UDP
	// may have the same one.
	Address string
	// Protocol is what clients speak.
	Protocol ListenerProtocol
	// Hostname selects the clients: a name, *. before a name for all names below it at any depth, or empty for every name
	// that no other listener of the address has; the most specific listener wins. With TLS, the SNI selects the
	// connection's listener, and a request for a host of another one is answered 421. It has no effect for TCP and UDP.
	Hostname string
	// Port is the port that clients use, 1 to 65535, where it differs from that of Address because something translates
	// it. 0 means the port of Address.
	Port int
	// Created is when what declares the listener was created. Of listeners of a provider that conflict, the one that was
	// created first serves; the zero time is the oldest. Those of the same time are in the order of their names.
	Created time.Time `json:"-" label:"-"`
	// Template names the static entrypoint whose options apply, but for the address, TLS, redirections and HTTP/3.
	// Empty means the defaults of all options.
	Template string
}

// NamesListener reports whether a name in entryPoints is that of a Listener: entrypoints of the static configuration
// have no provider.
func NamesListener(name string) bool { return strings.Contains(name, "@") }

// ListenerProtocol is a protocol that a Listener accepts, by its name in the Gateway API.
type ListenerProtocol string

// The protocols of listeners.
const (
	// ListenerHTTP accepts HTTP/1.1 and HTTP/2 without TLS.
	ListenerHTTP ListenerProtocol = "HTTP"
	// ListenerHTTPS accepts HTTP over TLS that ends here.
	ListenerHTTPS ListenerProtocol = "HTTPS"
	// ListenerTLS accepts TLS for TCP routers, which end it or pass it through.
	ListenerTLS ListenerProtocol = "TLS"
	// ListenerTCP gives every connection to a TCP router.
	ListenerTCP ListenerProtocol = "TCP"
	// ListenerUDP gives every datagram to a UDP router.
	ListenerUDP ListenerProtocol = "UDP"
)
