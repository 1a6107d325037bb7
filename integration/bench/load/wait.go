package main

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wait waits for events no longer than the time given: to the nanosecond, where epoll_wait knows only milliseconds.
func wait(epoll int, events []unix.EpollEvent, most time.Duration) (int, error) {
	timeout := unix.NsecToTimespec(int64(most))
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)),
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, errno
}
