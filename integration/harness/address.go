package harness

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports below those that systems give to clients (Linux: 32768, net.ipv4.ip_local_port_range), so that no client gets a
// port between FreeAddress and its use.
const (
	firstFreePort = 20000
	lastFreePort  = 32000
)

// FreeAddress returns an address of 127.0.0.1 on which nothing listens, by TCP and by UDP. No other call returns it
// until the test ends, also in the processes of other packages.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var failed error
	for range 100 {
		port := strconv.Itoa(firstFreePort + rand.IntN(lastFreePort-firstFreePort)) //nolint:gosec // Any port will do.
		var reserved net.Listener
		// A name in the abstract namespace of Linux (unix(7)), which ends with the socket.
		if reserved, failed = new(net.ListenConfig).Listen(t.Context(), "unix", "@sluice-test-port-"+port); failed != nil {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", port)
		if failed = free(t.Context(), address); failed != nil {
			_ = reserved.Close()
			continue
		}
		t.Cleanup(func() { _ = reserved.Close() })
		return address
	}
	t.Fatalf("no free port: %v", failed)
	return ""
}

// free returns why an address cannot be listened on.
func free(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	packets, err := new(net.ListenConfig).ListenPacket(ctx, "udp", address)
	if err == nil {
		err = packets.Close()
	}
	return errors.Join(err, listener.Close())
}
