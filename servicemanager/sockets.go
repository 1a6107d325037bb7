package servicemanager

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Sockets are those that the service manager has passed, each with the name of an entrypoint: the ones that it has
// bound (FileDescriptorName= of a socket unit), and those that Notifier.Store has sent. It is an entrypoint.Inherited.
// The methods must not be called at the same time, and Select comes first.
type Sockets struct {
	logger  telemetry.Logger
	waiting []socket
	// taken has the names of those that were returned, as Store writes them.
	taken map[string]bool
}

// socket is a listener of TCP, or a socket of UDP.
type socket struct {
	name, network string
	// stored is whether it comes from Store.
	stored   bool
	listener net.Listener
	packets  net.PacketConn
}

// Configured returns the address of an entrypoint as it is configured, HOST:PORT, if it takes sockets of a network, tcp
// or udp. Stored ones are those that Notifier.Store has sent.
type Configured func(name, network string, stored bool) (address string, takes bool)

// Select closes and logs all sockets but those of entrypoints that have their addresses, and returns those of them that
// Store has sent, for Notifier.Forget. A port 0 stands for every port, no host for all addresses of one family or of
// both, and a host name other than localhost for none. Clients that connect to the socket of a unit that is closed here
// wait in vain: the service manager keeps it open.
func (s *Sockets) Select(configured Configured) (forget []string) {
	listeners := map[string]bool{} // TCP entrypoints have one each.
	s.waiting = slices.DeleteFunc(s.waiting, func(one socket) bool {
		address, takes := configured(one.name, one.network, one.stored)
		if takes && boundTo(one.address(), address) && !(one.network == "tcp" && listeners[one.name]) {
			listeners[one.name] = listeners[one.name] || one.network == "tcp"
			return false
		}
		if stored := StoredName(one.name, one.network); one.stored && !slices.Contains(forget, stored) {
			forget = append(forget, stored)
		}
		one.close()
		s.logger.Warn("a socket of the service manager is not used", "entrypoint", one.name, "network", one.network,
			"address", one.address().String())
		return true
	})
	return forget
}

// Listener returns the listening TCP socket of a name, once, if it is bound to address.
func (s *Sockets) Listener(name, address string) (net.Listener, bool) {
	found := s.take(name, "tcp", address)
	if len(found) == 0 {
		return nil, false
	}
	return found[0].listener, true
}

// Packets returns all UDP sockets of a name that are bound to address, once.
func (s *Sockets) Packets(name, address string) ([]net.PacketConn, bool) {
	var found []net.PacketConn
	for _, one := range s.take(name, "udp", address) {
		found = append(found, one.packets)
	}
	return found, len(found) > 0
}

// Taken reports whether Listener or Packets has returned a socket; network is tcp or udp.
func (s *Sockets) Taken(name, network string) bool { return s.taken[StoredName(name, network)] }

// take removes and returns sockets.
func (s *Sockets) take(name, network, address string) (found []socket) {
	s.waiting = slices.DeleteFunc(s.waiting, func(one socket) bool {
		if one.name != name || one.network != network || !boundTo(one.address(), address) {
			return false
		}
		found = append(found, one)
		s.taken[StoredName(name, network)] = true
		return true
	})
	return found
}

// newSocket returns the socket of a file descriptor with a name.
func newSocket(name string, listener net.Listener, packets net.PacketConn) socket {
	one := socket{name: name, network: "udp", listener: listener, packets: packets}
	if listener != nil {
		one.network = "tcp"
	}
	one.name, one.stored = strings.CutSuffix(name, StoredName("", one.network))
	return one
}

// StoredName returns the name of the sockets of an entrypoint that Notifier.Store sends, for Notifier.Forget: a socket
// unit may have bound others. Network is tcp or udp.
func StoredName(name, network string) string { return name + "/" + network }

// address returns the address to which a socket is bound.
func (s socket) address() net.Addr {
	if s.listener != nil {
		return s.listener.Addr()
	}
	return s.packets.LocalAddr()
}

// close closes the socket of this process.
func (s socket) close() {
	if s.listener != nil {
		_ = s.listener.Close()
		return
	}
	_ = s.packets.Close()
}

// boundTo reports whether a socket has an address as it is configured.
func boundTo(socket net.Addr, address string) bool {
	local, err := netip.ParseAddrPort(socket.String())
	if err != nil {
		return false // It is no socket of IP.
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != "0" && port != strconv.Itoa(int(local.Port())) {
		return false
	}
	ip := local.Addr().Unmap()
	if host == "" {
		return ip.IsUnspecified()
	}
	if wanted, err := netip.ParseAddr(host); err == nil {
		return wanted.Unmap() == ip
	}
	return strings.EqualFold(host, "localhost") && ip.IsLoopback()
}
