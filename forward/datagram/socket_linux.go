package datagram

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiveBytes is how large the receive queue of an entrypoint's socket should be, where the system allows it.
const receiveBytes = 4 << 20

// listener is a socket of an entrypoint.
type listener struct {
	fd int
	// ipv6 is the family; IPv4 clients may come there too.
	ipv6 bool
	// segments is whether the kernel splits what is sent joined (UDP_SEGMENT). It joins what is received if joins is set
	// (UDP_GRO).
	segments, joins bool
}

// takeOver returns a socket of its own for conn, which is closed: Go's poller would be woken for each datagram.
func takeOver(conn net.PacketConn) (*listener, error) {
	defer func() { _ = conn.Close() }()
	system, ok := conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T is no socket", conn)
	}
	fd, err := duplicate(system)
	if err != nil {
		return nil, err
	}
	l := &listener{fd: fd}
	if err = l.setUp(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return l, nil
}

// setUp sets what datagrams are received with. What an older kernel does not have is not used.
func (l *listener) setUp() error {
	name, err := unix.Getsockname(l.fd)
	if err != nil {
		return err
	}
	var local netip.Addr
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		local = netip.AddrFrom4(name.Addr)
	case *unix.SockaddrInet6:
		local, l.ipv6 = netip.AddrFrom16(name.Addr), true
	}
	if local.IsUnspecified() {
		level, option := unix.IPPROTO_IP, unix.IP_PKTINFO
		if l.ipv6 {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO
		}
		if err := unix.SetsockoptInt(l.fd, level, option, 1); err != nil {
			return fmt.Errorf("local addresses of datagrams: %w", err)
		}
	}
	if unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBytes) != nil {
		_ = unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBytes)
	}
	_ = unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	l.joins = unix.SetsockoptInt(l.fd, unix.SOL_UDP, unix.UDP_GRO, 1) == nil
	_, err = unix.GetsockoptInt(l.fd, unix.SOL_UDP, unix.UDP_SEGMENT)
	l.segments = err == nil
	return nil
}

// socket is the system's part of a session.
type socket struct {
	fd int
	// slot and generation identify the session in events, and position the worker.
	slot, generation int32
	position         int
	// burst is how many datagrams are read at once.
	burst int
	// name is the client's address, and control what is sent with each datagram to it.
	name    unix.RawSockaddrInet6
	length  uint32
	control []byte
}

// dial returns a socket that is connected to an endpoint.
func dial(endpoint netip.AddrPort, joins bool) (int, error) {
	family := unix.AF_INET
	if endpoint.Addr().Is6() && !endpoint.Addr().Is4In6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var name unix.RawSockaddrInet6
	length := writeName(&name, endpoint, family == unix.AF_INET6)
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&name)), uintptr(length))
	if errno != 0 {
		_ = unix.Close(fd)
		return -1, errno
	}
	if joins {
		_ = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1)
	}
	return fd, nil
}
