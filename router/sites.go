package router

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/datagram"
)

// Address is where listeners of providers accept clients.
type Address struct {
	// Network is tcp or udp.
	Network string
	// HostPort is the address as host:port or :port; the host is an IP address.
	HostPort string
}

// String returns the network and the address.
func (a Address) String() string { return a.Network + " " + a.HostPort }

// Socket is an address with what its listeners demand of it.
type Socket struct {
	Address
	// Template is the name of the entrypoint of the static configuration whose options it has; empty for the defaults.
	Template string
	// Listeners are the names of the listeners, in order.
	Listeners []string
}

// Sockets has a socket for each address of listeners. Its methods are called by the goroutine that compiles.
type Sockets interface {
	// Bind opens the sockets that are new, without serving their clients, who wait in the queues of the system. It is
	// called before a table serves that has other sockets than the one before. It does not wait, and the list is not
	// changed.
	Bind(sockets []Socket)
	// Follow serves the sockets of the last Bind, and drains and closes all others. It does not wait.
	Follow()
}

// sites are the addresses of all listeners that serve. They are immutable.
type sites struct {
	hosts map[Address]*virtualHosts
	// sockets are the addresses in the order of their first listeners.
	sockets []Socket
}

// newSites gives listeners their places, in order. Those that conflict with an earlier one get a fault, and those that
// share the socket of an earlier one its template.
func newSites(order []*listenerNode) *sites {
	s := &sites{hosts: map[Address]*virtualHosts{}}
	places := map[Address]int{}
	for _, node := range order {
		if node.err != nil {
			continue
		}
		hosts := s.hosts[node.address]
		if hosts == nil {
			hosts = &virtualHosts{first: node}
			s.hosts[node.address], places[node.address] = hosts, len(s.sockets)
			s.sockets = append(s.sockets, Socket{Address: node.address, Template: node.template})
		}
		if node.err = hosts.add(node); node.err != nil {
			continue
		}
		if first := hosts.first; first.template != node.template {
			node.warnings = append(node.warnings, fmt.Sprintf("template: it has no effect, since the listener %q of the same "+
				"address comes first", first.name))
			node.template = first.template
			node.inherit(&first.entrypoint)
		}
		node.warnOfTemplate()
		socket := &s.sockets[places[node.address]]
		socket.Listeners = append(socket.Listeners, node.name)
	}
	return s
}

// virtualHosts are the listeners of one address.
type virtualHosts struct {
	first *listenerNode
	// plain have the clients without TLS, secure those with TLS.
	plain, secure hostSet
	// catchAll is the listener that has all clients: one of TCP or UDP.
	catchAll *listenerNode
	// passes says that a listener of secure has TCP routers, ends that one is of HTTPS.
	passes, ends bool
}

// add gives a listener its place. It fails if that is taken.
func (v *virtualHosts) add(node *listenerNode) error {
	set := &v.plain
	switch node.definition.Protocol {
	case dynamic.ListenerTCP, dynamic.ListenerUDP:
		if v.first != node {
			return conflicting(v.first, "which has the address already")
		}
		v.catchAll = node
		return nil
	case dynamic.ListenerHTTPS, dynamic.ListenerTLS:
		set = &v.secure
	case dynamic.ListenerHTTP:
	}
	if v.catchAll != nil {
		return conflicting(v.catchAll, "which takes all connections of the address")
	}
	if other := set.put(node); other != nil {
		return conflicting(other, "which has the same address and hostname")
	}
	v.passes = v.passes || node.definition.Protocol == dynamic.ListenerTLS
	v.ends = v.ends || node.definition.Protocol == dynamic.ListenerHTTPS
	return nil
}

func conflicting(other *listenerNode, why string) error {
	return &coded{
		code:  dynamic.CodeConflictingListener,
		error: fmt.Errorf("it conflicts with the listener %q (%s), %s", other.name, other.definition.Protocol, why),
		cause: listenerRef(other.name),
	}
}

// hostSet finds the listener of a host.
type hostSet struct {
	exact map[string]*listenerNode
	// below are those of *. by the name behind it.
	below map[string]*listenerNode
	// rest has the hosts that no other has.
	rest *listenerNode
}

// put adds a listener, or returns the one that has its hostname already.
func (s *hostSet) put(node *listenerNode) (taken *listenerNode) {
	if node.hostname == "" {
		if s.rest == nil {
			s.rest = node
			return nil
		}
		return s.rest
	}
	parent, wildcard := strings.CutPrefix(node.hostname, "*.")
	set := &s.exact
	if wildcard {
		set = &s.below
	}
	if taken = (*set)[parent]; taken != nil {
		return taken
	}
	if *set == nil {
		*set = map[string]*listenerNode{}
	}
	(*set)[parent] = node
	return nil
}

// find returns the listener of a host in lower case: the one with its name, else the one of *. with the longest name,
// else the one without a hostname; or nil.
func (s *hostSet) find(host string) *listenerNode {
	if found := s.exact[host]; found != nil {
		return found
	}
	if len(s.below) > 0 {
		for parent := host; ; {
			_, rest, more := strings.Cut(parent, ".")
			if !more {
				break
			}
			if found := s.below[rest]; found != nil {
				return found
			}
			parent = rest
		}
	}
	return s.rest
}

// ofClients returns the listeners for clients with TLS, or for those without.
func (v *virtualHosts) ofClients(secure bool) *hostSet {
	if secure {
		return &v.secure
	}
	return &v.plain
}

// selects reports whether a client with that server name or host is the listener's.
func (s *sites) selects(node *listenerNode, host string, secure bool) bool {
	hosts := s.hosts[node.address]
	if hosts.catchAll != nil {
		return hosts.catchAll == node
	}
	return hosts.ofClients(secure).find(host) == node
}

// equal reports whether two versions have the same sockets.
func (s *sites) equal(other *sites) bool {
	return s == other || slices.EqualFunc(s.sockets, other.sockets, func(a, b Socket) bool {
		return a.Address == b.Address && a.Template == b.Template && slices.Equal(a.Listeners, b.Listeners)
	})
}

// forgetPackets drops the routers of addresses of listeners that the next table does not have.
func (s *serving) forgetPackets(next *Table, packets *sync.Map) {
	for address := range s.sites.hosts {
		if next.sites.hosts[address] != nil {
			continue
		}
		if router, known := packets.LoadAndDelete(address.String()); known {
			router.(*datagram.Router).Set(nil)
		}
	}
}
