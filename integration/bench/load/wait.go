package main

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of the open loop are raw ones: Go's scheduler is not told of them, so that it does not look after
// this thread every 20 microseconds. Nothing else in the process is in a hurry.

// wait waits for events no longer than the time given: to the nanosecond, where epoll_wait knows only milliseconds.
func wait(epoll int, events []unix.EpollEvent, most time.Duration) (int, error) {
	timeout := unix.NsecToTimespec(int64(most))
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)),
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
	return result(n, errno)
}

// read reads from a socket that does not block. It returns 0 when there is nothing to read yet, and an error at the
// end.
func read(descriptor int, into []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(descriptor), uintptr(unsafe.Pointer(&into[0])),
		uintptr(len(into)))
	if errno == 0 && n == 0 {
		return 0, unix.ECONNRESET
	}
	return result(n, errno)
}

// write writes to a socket that does not block.
func write(descriptor int, text []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(descriptor), uintptr(unsafe.Pointer(&text[0])),
		uintptr(len(text)))
	return result(n, errno)
}

// result makes no error of what passes by itself.
func result(n uintptr, errno syscall.Errno) (int, error) {
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR, unix.EAGAIN:
		return 0, nil
	}
	return 0, errno
}
