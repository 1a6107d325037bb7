package handover

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
)

// Inherited holds the sockets that a process has got and not used yet. It is safe for concurrent use.
type Inherited struct {
	mutex   sync.Mutex
	sockets []inheritedSocket
	count   int
	// closed are the addresses of sockets that CloseUnused has closed.
	closed []Address
}

// inheritedSocket is a socket of another process.
type inheritedSocket struct {
	Address

	index int
	// listener is that of tcp, packets that of udp, and conn that of another network.
	listener net.Listener
	packets  net.PacketConn
	conn     net.Conn
}

// closer returns the socket itself.
func (s *inheritedSocket) closer() io.Closer {
	switch {
	case s.listener != nil:
		return s.listener
	case s.packets != nil:
		return s.packets
	default:
		return s.conn
	}
}

// Listener returns the socket of tcp that was bound to an address as configured, and false where there is none. That of
// the same name comes first. With port 0, only that of the same name is returned. It is the caller's then.
func (i *Inherited) Listener(name, address string) (net.Listener, bool) {
	taken := i.take("tcp", name, address, false)
	if len(taken) == 0 {
		return nil, false
	}
	return taken[0].listener, true
}

// Packets returns the group of sockets of udp that were bound to an address, by the rules of Listener, in the order of
// the group. They are the caller's then.
func (i *Inherited) Packets(name, address string) ([]net.PacketConn, bool) {
	var sockets []net.PacketConn
	for _, socket := range i.take("udp", name, address, true) {
		sockets = append(sockets, socket.packets)
	}
	return sockets, len(sockets) > 0
}

// Conns returns the connected sockets of a network, Session or Feed, that were handed over for a name and an address,
// by their Index. They are the caller's then.
func (i *Inherited) Conns(network, name, address string) map[int]net.Conn {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	taken := map[int]net.Conn{}
	wanted := Address{Name: name, Network: network, HostPort: address}
	i.sockets = slices.DeleteFunc(i.sockets, func(socket inheritedSocket) bool {
		_, repeated := taken[socket.index]
		if socket.conn == nil || socket.Address != wanted || repeated {
			return false
		}
		taken[socket.index] = socket.conn
		return true
	})
	return taken
}

// take removes the sockets of an address and returns them: all, or the first one.
func (i *Inherited) take(network, name, address string, all bool) []inheritedSocket {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	owner, found := name, false
	for _, socket := range i.sockets {
		if socket.Network != network || socket.HostPort != address {
			continue
		}
		if socket.Name == name {
			owner, found = name, true
			break
		}
		if !found && !anyPort(address) {
			owner, found = socket.Name, true
		}
	}
	wanted := Address{Name: owner, Network: network, HostPort: address}
	var taken, left []inheritedSocket
	for _, socket := range i.sockets {
		if found && socket.Address == wanted && (all || len(taken) == 0) {
			taken = append(taken, socket)
		} else {
			left = append(left, socket)
		}
	}
	i.sockets = left
	slices.SortStableFunc(taken, func(a, b inheritedSocket) int { return cmp.Compare(a.index, b.index) })
	return taken
}

// anyPort reports whether the system chooses the port of an address.
func anyPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && (port == "0" || port == "")
}

// CloseUnused closes the sockets that were not used, and returns their addresses, without repetition. They must not
// stay open: clients would wait in the queue of such a socket, and datagrams would get lost in it.
func (i *Inherited) CloseUnused() []Address {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	var closed []Address
	for _, socket := range i.sockets {
		_ = socket.closer().Close()
		if !slices.Contains(closed, socket.Address) {
			closed = append(closed, socket.Address)
		}
	}
	i.sockets = nil
	i.closed = append(i.closed, closed...)
	return closed
}

// Closed returns the addresses of all calls of CloseUnused, which Client.Confirm also does.
func (i *Inherited) Closed() []Address {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return slices.Clone(i.closed)
}

// add takes over the descriptors of a message, also when it fails.
func (i *Inherited) add(entries []socketEntry, descriptors []int) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for n, entry := range entries {
		if i.count++; i.count > maxSockets {
			closeDescriptors(descriptors[n:])
			return fmt.Errorf("there are more than %d sockets", maxSockets)
		}
		socket, err := newInheritedSocket(entry, descriptors[n])
		if err != nil {
			closeDescriptors(descriptors[n+1:])
			return err
		}
		i.sockets = append(i.sockets, socket)
	}
	return nil
}

// newInheritedSocket makes a socket of a descriptor, which it closes. The descriptor is non-blocking as in the process
// that has sent it, and must stay so: both share the mode.
func newInheritedSocket(entry socketEntry, descriptor int) (inheritedSocket, error) {
	s := inheritedSocket{
		Address: Address{Name: entry.Name, Network: entry.Network, HostPort: entry.Address}, index: entry.Index,
	}
	file := os.NewFile(uintptr(descriptor), "socket")
	defer func() { _ = file.Close() }()
	var err error
	switch entry.Network {
	case "tcp":
		s.listener, err = net.FileListener(file)
	case "udp":
		s.packets, err = net.FilePacketConn(file)
	default:
		s.conn, err = net.FileConn(file)
	}
	if err != nil {
		return s, fmt.Errorf("the socket of %s: %w", s.Address, err)
	}
	return s, nil
}
