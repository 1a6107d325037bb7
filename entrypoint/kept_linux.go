package entrypoint

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// kept is a socket that Sockets yields while its server serves it, which may have closed the one that it has got. It is
// outside of Go's poller, which would be woken for each datagram. It is a syscall.Conn and a syscall.RawConn.
type kept struct {
	mutex sync.RWMutex
	// fd is negative when it is closed.
	fd int
}

// keep returns a descriptor of its own for a socket.
func keep(socket syscall.Conn) (*kept, error) {
	conn, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	k := &kept{fd: -1}
	var failed error
	err = conn.Control(func(of uintptr) { k.fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	return k, os.NewSyscallError("fcntl", failed)
}

// SyscallConn returns the socket itself.
func (k *kept) SyscallConn() (syscall.RawConn, error) { return k, nil }

// Control calls f with the descriptor, which is open meanwhile.
func (k *kept) Control(f func(fd uintptr)) error {
	k.mutex.RLock()
	defer k.mutex.RUnlock()
	if k.fd < 0 {
		return net.ErrClosed
	}
	f(uintptr(k.fd))
	return nil
}

// Read fails: the server reads.
func (k *kept) Read(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// Write fails: the server writes.
func (k *kept) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// close closes the descriptor. It may be called again.
func (k *kept) close() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.fd >= 0 {
		_ = unix.Close(k.fd)
		k.fd = -1
	}
}
