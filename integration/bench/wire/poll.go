package wire

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Poll waits for events of sockets.
type Poll struct {
	descriptor int
	events     [256]unix.EpollEvent
}

// NewPoll returns a Poll without sockets.
func NewPoll() (*Poll, error) {
	descriptor, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return &Poll{descriptor: descriptor}, nil
}

// Close ends the Poll; the sockets stay open.
func (p *Poll) Close() { _ = unix.Close(p.descriptor) }

// Add adds a socket with the kinds of events (unix.EPOLLIN and others), and a number that its events have in Fd.
func (p *Poll) Add(socket, number int, kinds uint32) error {
	return p.control(unix.EPOLL_CTL_ADD, socket, number, kinds)
}

// Change changes the kinds of events of a socket.
func (p *Poll) Change(socket, number int, kinds uint32) error {
	return p.control(unix.EPOLL_CTL_MOD, socket, number, kinds)
}

func (p *Poll) control(operation, socket, number int, kinds uint32) error {
	return unix.EpollCtl(p.descriptor, operation, socket, &unix.EpollEvent{Events: kinds, Fd: int32(number)})
}

// Wait returns events; none after the given time, which has a precision of nanoseconds. The result is valid until the
// next call.
func (p *Poll) Wait(most time.Duration) ([]unix.EpollEvent, error) {
	timeout := unix.NsecToTimespec(int64(most))
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.descriptor), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	got, err := result(n, errno)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return p.events[:got], nil
}

// Sleep waits for the next event without a limit of time, and lets other goroutines run meanwhile.
func (p *Poll) Sleep() error {
	waiting := []unix.PollFd{{Fd: int32(p.descriptor), Events: unix.POLLIN}}
	if _, err := unix.Poll(waiting, -1); err != nil && err != unix.EINTR {
		return fmt.Errorf("poll: %w", err)
	}
	return nil
}
