//go:build unix

package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// hasMore reports whether a descriptor has something to read, without reading it.
func hasMore(raw syscall.RawConn) bool {
	n := 0
	look := func(fd uintptr) {
		var one [1]byte
		n, _, _ = unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	}
	return raw.Control(look) == nil && n > 0
}

// writable reports whether a descriptor takes some bytes without waiting.
func writable(raw syscall.RawConn) bool {
	ready := false
	look := func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}} //nolint:gosec // A descriptor is an int.
		_, err := unix.Poll(poll, 0)
		ready = err == nil && poll[0].Revents&unix.POLLOUT != 0
	}
	return raw.Control(look) == nil && ready
}

// readNow reads what a descriptor has; errors are for the next Read that waits to find.
func readNow(raw syscall.RawConn, p []byte) int {
	n := 0
	if raw.Control(func(fd uintptr) { n, _ = unix.Read(int(fd), p) }) != nil {
		return 0
	}
	return max(n, 0)
}
