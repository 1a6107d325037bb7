package wire

import (
	"fmt"
	"io"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Dial returns a socket of a type (unix.SOCK_STREAM or unix.SOCK_DGRAM) that is connected to an address. TCP_NODELAY is
// set.
func Dial(kind int, address netip.AddrPort) (descriptor int, err error) {
	if descriptor, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	to := unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}
	err = unix.Connect(descriptor, &to)
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.SetsockoptInt(descriptor, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err != nil {
		_ = unix.Close(descriptor)
		return -1, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return descriptor, nil
}

// Read reads what there is, without waiting. It returns 0 if there is no data, and io.EOF at the end of a stream.
func Read(descriptor int, into []byte) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(descriptor), uintptr(unsafe.Pointer(&into[0])),
		uintptr(len(into)), unix.MSG_DONTWAIT, 0, 0)
	if errno == 0 && n == 0 {
		return 0, io.EOF
	}
	return result(n, errno)
}

// Discard is Read for TCP that drops up to the given number of bytes in the kernel, without copying them.
func Discard(descriptor int, most int) (int, error) {
	var none byte
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(descriptor), uintptr(unsafe.Pointer(&none)),
		uintptr(most), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
	if errno == 0 && n == 0 {
		return 0, io.EOF
	}
	return result(n, errno)
}

// Write writes what there is room for, without waiting.
func Write(descriptor int, text []byte) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(descriptor), uintptr(unsafe.Pointer(&text[0])),
		uintptr(len(text)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return result(n, errno)
}

// Accept accepts a connection without waiting. It returns -1 if there is none.
func Accept(listener int) (descriptor int, err error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), 0, 0,
		unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		_, err = result(0, errno)
		return -1, err
	}
	return int(n), nil
}

// result ignores errors that are over with the next event.
func result(n uintptr, errno syscall.Errno) (int, error) {
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR, unix.EAGAIN, unix.ECONNABORTED:
		return 0, nil
	}
	return 0, errno
}
