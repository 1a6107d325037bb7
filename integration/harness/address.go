package harness

import (
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

// FreeAddress returns an address of 127.0.0.1 on which nothing listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var failed error
	for range 100 {
		port := firstFreePort + rand.IntN(lastFreePort-firstFreePort) //nolint:gosec // Any port will do.
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		var listener net.Listener
		if listener, failed = new(net.ListenConfig).Listen(t.Context(), "tcp", address); failed == nil {
			_ = listener.Close()
			return address
		}
	}
	t.Fatalf("no free port: %v", failed)
	return ""
}
