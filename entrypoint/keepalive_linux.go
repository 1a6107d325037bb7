package entrypoint

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// The keep-alive of connections is that of Go: a probe after 15 s without bytes, and the end after 9 without an answer.
const (
	keepAliveSeconds = 15
	keepAliveProbes  = 9
)

// keepAlive has accepted connections inherit the keep-alive of the listening socket, which Go would set by four system
// calls on each.
func keepAlive(config *net.ListenConfig) {
	config.KeepAlive = -1
	before := config.Control
	config.Control = func(network, address string, conn syscall.RawConn) error {
		if before != nil {
			if err := before(network, address, conn); err != nil {
				return err
			}
		}
		var failed error
		err := conn.Control(func(fd uintptr) { failed = setKeepAlive(int(fd)) })
		if err != nil {
			return err
		}
		return failed
	}
}

func setKeepAlive(fd int) error {
	for _, option := range []struct{ level, name, value int }{
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAliveSeconds},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAliveSeconds},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveProbes},
	} {
		if err := unix.SetsockoptInt(fd, option.level, option.name, option.value); err != nil {
			return err
		}
	}
	return nil
}
