package main

import (
	"net"
	"syscall"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/handover"
)

// socketOwner has bound sockets.
type socketOwner interface {
	Sockets(yield func(network string, socket syscall.Conn) bool)
}

// owner is what has bound sockets for an address.
type owner struct {
	name, hostPort string
	server         any
}

// owners returns the entrypoints, the servers of the listeners of providers, and the listeners of other addresses.
func (h *succession) owners() []owner {
	var all []owner
	for _, one := range h.entrypoints {
		if address, err := h.system.config.EntryPoints[one.Name()].ListenAddress(); err == nil {
			all = append(all, owner{one.Name(), address.HostPort(), one})
		}
	}
	for address, server := range h.system.listeners.Servers {
		all = append(all, owner{address.HostPort, address.HostPort, server})
	}
	for _, one := range h.system.auxiliaries.all() {
		all = append(all, owner{one.name, one.hostPort, one})
	}
	return all
}

// Sockets returns all sockets of clients.
func (h *succession) Sockets() []handover.Socket {
	var sockets []handover.Socket
	for _, one := range h.owners() {
		bound, ok := one.server.(socketOwner)
		if !ok {
			continue
		}
		index := map[string]int{}
		for network, socket := range bound.Sockets {
			sockets = append(sockets, handover.Socket{
				Address: handover.Address{Name: one.name, Network: network, HostPort: one.hostPort},
				Index:   index[network], Conn: socket,
			})
			index[network]++
		}
		sockets = append(sockets, feeds(one)...)
	}
	return append(sockets, h.sessionSockets()...)
}

// inheritances are sources of sockets, of which the first that has one is used.
type inheritances []entrypoint.Inherited

// Listener returns the listener of the first that has one.
func (all inheritances) Listener(name, address string) (net.Listener, bool) {
	for _, one := range all {
		if listener, ok := one.Listener(name, address); ok {
			return listener, true
		}
	}
	return nil, false
}

// Packets returns the sockets of the first that has some.
func (all inheritances) Packets(name, address string) ([]net.PacketConn, bool) {
	for _, one := range all {
		if sockets, ok := one.Packets(name, address); ok {
			return sockets, true
		}
	}
	return nil, false
}
