package servicemanager

import (
	"errors"
	"net"
	"os"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/telemetry"
)

var (
	errNoSocket  = errors.New("it is no listening TCP socket and no UDP socket")
	errConnected = errors.New("it is a connection; the socket unit must not have Accept=yes")
)

// Passed returns the sockets in the variables LISTEN_FDS and LISTEN_FDNAMES if they are for this process (LISTEN_PID),
// and removes the variables from the environment. Other file descriptors are closed and logged. It may be called once.
func Passed(logger telemetry.Logger) *Sockets {
	s := &Sockets{logger: logger, taken: map[string]bool{}}
	for _, file := range activation.Files(true) {
		one, err := socketOf(file)
		_ = file.Close() // The socket has a descriptor of its own.
		if err != nil {
			logger.Warn("a file descriptor of the service manager is not used", "name", file.Name(), "error", err)
			continue
		}
		s.waiting = append(s.waiting, one)
	}
	return s
}

// socketOf returns the socket of a file.
func socketOf(file *os.File) (socket, error) {
	kind, listens, err := kindOf(file)
	if err != nil {
		return socket{}, err
	}
	switch {
	case kind == unix.SOCK_STREAM && !listens:
		return socket{}, errConnected
	case kind == unix.SOCK_STREAM:
		listener, err := net.FileListener(file)
		if err != nil {
			return socket{}, err
		}
		if _, isTCP := listener.(*net.TCPListener); isTCP {
			return newSocket(file.Name(), listener, nil), nil
		}
		return socket{}, errors.Join(errNoSocket, listener.Close())
	case kind == unix.SOCK_DGRAM:
		packets, err := net.FilePacketConn(file)
		if err != nil {
			return socket{}, err
		}
		if _, isUDP := packets.(*net.UDPConn); isUDP {
			return newSocket(file.Name(), nil, packets), nil
		}
		return socket{}, errors.Join(errNoSocket, packets.Close())
	}
	return socket{}, errNoSocket
}

// kindOf returns the type of a socket, and whether it listens.
func kindOf(file *os.File) (kind int, listens bool, err error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var listening int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if kind, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE); failed == nil {
			listening, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		}
	})
	if errors.Is(failed, unix.ENOTSOCK) {
		failed = errNoSocket
	}
	return kind, listening != 0, errors.Join(err, failed)
}
