package h3

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// feedsSupported says that another process may read the socket.
const feedsSupported = true

// openFeed returns the two ends of a feed, a pair of Unix sockets that keep packets apart.
func openFeed() (source, sink *net.UnixConn, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if unix.SetsockoptInt(pair[1], unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, feedBytes) != nil {
		// Without a capability, net.core.wmem_max is the limit.
		_ = unix.SetsockoptInt(pair[1], unix.SOL_SOCKET, unix.SO_SNDBUF, feedBytes)
	}
	source, err = unixConn(pair[0])
	sink, failed := unixConn(pair[1])
	if err = errors.Join(err, failed); err == nil {
		return source, sink, nil
	}
	for _, conn := range []*net.UnixConn{source, sink} {
		if conn != nil {
			_ = conn.Close()
		}
	}
	return nil, nil, err
}

// unixConn makes a connection of a descriptor, which it closes.
func unixConn(descriptor int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(descriptor), "feed")
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a feed is a %T", conn), conn.Close())
	}
	return unixConn, nil
}

// sendPacket sends a packet without waiting.
func sendPacket(fd uintptr, packet []byte) error {
	return unix.Send(int(fd), packet, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// noRoom reports whether an error of sendPacket means that the packet has to be dropped, and not that the other end is
// closed.
func noRoom(err error) bool {
	for _, temporary := range []error{unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM, unix.EINTR, unix.EMSGSIZE} {
		if errors.Is(err, temporary) {
			return true
		}
	}
	return false
}
