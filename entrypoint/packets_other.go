//go:build !linux

package entrypoint

import (
	"context"
	"net"
)

// listenGroup binds an address of UDP with one socket: other systems do not divide datagrams among several.
func listenGroup(ctx context.Context, address string, reuse bool) ([]net.PacketConn, error) {
	socket, err := listenPacket(ctx, address, reuse)
	if err != nil {
		return nil, err
	}
	return []net.PacketConn{socket}, nil
}
