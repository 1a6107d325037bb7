package entrypoint

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// Inherited has sockets that another process has bound, such as the service manager. What it returns belongs to the
// entrypoint. Address is HOST:PORT as configured; a port 0 stands for every port.
type Inherited interface {
	// Listener returns the listening TCP socket of an entrypoint, if there is one.
	Listener(name, address string) (net.Listener, bool)
	// Packets returns the UDP sockets of an entrypoint, if there are some; for a TCP entrypoint, that of HTTP/3.
	Packets(name, address string) ([]net.PacketConn, bool)
}

// bind returns the inherited listener, or else a new one.
func (e *Entrypoint) bind(ctx context.Context) (listener net.Listener, inherited bool, err error) {
	if e.deps.Inherited != nil {
		if listener, ok := e.deps.Inherited.Listener(e.name, e.address.HostPort()); ok {
			return listener, true, nil
		}
	}
	listener, err = e.deps.Listen(ctx, "tcp", e.address.HostPort())
	return listener, false, err
}

// bindPackets returns the inherited socket of HTTP/3, or else a new one on the port of tcp.
func (e *Entrypoint) bindPackets(ctx context.Context, tcp net.Addr) (net.PacketConn, error) {
	if e.deps.Inherited == nil {
		return e.listenPackets(ctx, tcp)
	}
	sockets, ok := e.deps.Inherited.Packets(e.name, e.address.HostPort())
	switch {
	case !ok:
		return e.listenPackets(ctx, tcp)
	case len(sockets) > 1:
		for _, socket := range sockets {
			_ = socket.Close()
		}
		return nil, fmt.Errorf("http3 has one UDP socket, and %d are inherited", len(sockets))
	}
	return sockets[0], nil
}

// Sockets yields the bound sockets with their networks, tcp or udp, after Listen. They stay the entrypoint's, which
// closes them when Serve has drained, or before. Replacements of the operating system's are left out.
func (e *Entrypoint) Sockets(yield func(network string, socket syscall.Conn) bool) {
	if socket, ok := e.listener.(syscall.Conn); ok && !yield("tcp", socket) {
		return
	}
	if socket, ok := e.packets.(syscall.Conn); ok {
		yield("udp", socket)
	}
}

// Sockets yields the bound sockets as Entrypoint.Sockets does, in the order of their group.
func (e *PacketEntrypoint) Sockets(yield func(network string, socket syscall.Conn) bool) {
	for _, socket := range e.kept {
		if !yield("udp", socket) {
			return
		}
	}
}
