package main

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The open loop uses raw system calls, of which Go's scheduler is not informed, so that it does not inspect this thread
// every 20 microseconds. The process has no other work.

// wait waits for events for at most the given time, with nanosecond precision; epoll_wait has milliseconds.
func wait(epoll int, events []unix.EpollEvent, most time.Duration) (int, error) {
	timeout := unix.NsecToTimespec(int64(most))
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)),
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
	return result(n, errno)
}

// read reads from a non-blocking socket. It returns 0 if there is no data, and an error at the end.
func read(descriptor int, into []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(descriptor), uintptr(unsafe.Pointer(&into[0])),
		uintptr(len(into)))
	if errno == 0 && n == 0 {
		return 0, unix.ECONNRESET
	}
	return result(n, errno)
}

// write writes to a non-blocking socket.
func write(descriptor int, text []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(descriptor), uintptr(unsafe.Pointer(&text[0])),
		uintptr(len(text)))
	return result(n, errno)
}

// result ignores temporary errors.
func result(n uintptr, errno syscall.Errno) (int, error) {
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR, unix.EAGAIN:
		return 0, nil
	}
	return 0, errno
}
