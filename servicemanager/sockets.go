package servicemanager

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Sockets are those that the service manager has bound, each with a name (FileDescriptorName= of a socket unit), which is
// that of an entrypoint. It is an entrypoint.Inherited. The methods must not be called at the same time.
type Sockets struct {
	logger telemetry.Logger
	unused []socket
}

// socket is one of both kinds.
type socket struct {
	name     string
	listener net.Listener
	packets  net.PacketConn
}

// Listener returns the listening TCP socket of a name that is bound to address, once. An address is HOST:PORT as
// configured: port 0 stands for every port, no host for all addresses of one family or of both, and a host name but
// localhost for none.
func (s *Sockets) Listener(name, address string) (net.Listener, bool) {
	at := slices.IndexFunc(s.unused, func(one socket) bool {
		return one.listener != nil && one.name == name && boundTo(one.listener.Addr(), address)
	})
	if at < 0 {
		return nil, false
	}
	listener := s.unused[at].listener
	s.unused = slices.Delete(s.unused, at, at+1)
	return listener, true
}

// Packets returns all UDP sockets of a name that are bound to address, once; it compares as Listener does.
func (s *Sockets) Packets(name, address string) ([]net.PacketConn, bool) {
	var found []net.PacketConn
	s.unused = slices.DeleteFunc(s.unused, func(one socket) bool {
		belongs := one.packets != nil && one.name == name && boundTo(one.packets.LocalAddr(), address)
		if belongs {
			found = append(found, one.packets)
		}
		return belongs
	})
	return found, len(found) > 0
}

// CloseUnused closes and logs the sockets that neither Listener nor Packets has returned. Clients that connect to the
// socket of a unit wait in vain even so: the service manager keeps it open.
func (s *Sockets) CloseUnused() {
	for _, one := range s.unused {
		var address net.Addr
		if one.listener != nil {
			address = one.listener.Addr()
			_ = one.listener.Close()
		} else {
			address = one.packets.LocalAddr()
			_ = one.packets.Close()
		}
		s.logger.Warn("a socket of the service manager is not used: no entrypoint has its name and address",
			"name", one.name, "network", address.Network(), "address", address.String())
	}
	s.unused = nil
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
