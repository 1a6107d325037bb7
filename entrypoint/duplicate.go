//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package entrypoint

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// duplicate returns another descriptor of a socket. That of net.TCPListener.File turns blocking, and with it the
// socket, when a listener is made of it: an accept loop that uses the socket would then block its thread, whatever its
// deadline.
func duplicate(socket syscall.Conn) (*os.File, error) {
	conn, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	if err := conn.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, errors.Join(err, failed)
	}
	if failed != nil {
		return nil, os.NewSyscallError("fcntl", failed)
	}
	return os.NewFile(uintptr(fd), "socket"), nil
}
