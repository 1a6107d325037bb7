package entrypoint

import (
	"context"
	"net"
	"runtime"
)

// listenGroup binds an address of UDP with as many sockets as Go uses processors. The first of them excludes other
// processes unless reuse is set; only then it lets the others in.
func listenGroup(ctx context.Context, address string, reuse bool) ([]net.PacketConn, error) {
	first, err := listenPacket(ctx, address, reuse)
	if err != nil {
		return nil, err
	}
	sockets, failed := []net.PacketConn{first}, error(nil)
	if raw, err := first.(*net.UDPConn).SyscallConn(); err != nil {
		failed = err
	} else if !reuse {
		failed = reusePort("", "", raw)
	}
	for failed == nil && len(sockets) < runtime.GOMAXPROCS(0) {
		var next net.PacketConn
		if next, failed = listenPacket(ctx, first.LocalAddr().String(), true); failed == nil {
			sockets = append(sockets, next)
		}
	}
	if failed == nil {
		return sockets, nil
	}
	for _, socket := range sockets {
		_ = socket.Close()
	}
	return nil, failed
}
