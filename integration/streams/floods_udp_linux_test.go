package streams

import (
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// sources is how many clients send a datagram each.
	sources = 100_000
	// sessionMemory is what a session takes, as the documentation has it.
	sessionMemory = 5 << 10
	// socketMemory is what the buffers of a socket take.
	socketMemory = 2 << 20
)

// TestDatagramsOfManySources sends datagrams from 100,000 addresses, and from many ports of one: the sessions stay
// within the limits, and so do memory and descriptors, while a session from before and clients of other protocols are
// served.
func TestDatagramsOfManySources(t *testing.T) {
	// Addresses for benchmarks (RFC 2544).
	if !inNamespace(t, "ip link set lo up && ip route add local 198.18.0.0/15 dev lo") {
		return
	}
	b := besiege(t)
	persist(t, b.session) // A client that has sent something after an answer is preferred.
	conn := floodSocket(t)
	to := netip.MustParseAddrPort(b.sluice.Addr("datagrams"))
	for i := range sources {
		source := [4]byte{198, byte(18 + i>>16), byte(i >> 8), byte(i)}
		sendFrom(t, conn, source, to)
		if i%(sources/20) == 0 {
			b.serves()
			if open := b.measured("sluice_udp_sessions_open", `entrypoint="datagrams"`); int(open) > mostSessions+sockets {
				t.Fatalf("%v sessions are open after %d sources", open, i+1)
			}
		}
	}
	b.serves()
	b.bounded(mostSessions*sessionMemory+sockets*socketMemory, mostSessions+64)
	evicted := b.measured("sluice_udp_sessions_total", `entrypoint="datagrams"`, `end="evicted"`)
	dropped := b.measured("sluice_udp_dropped_total", `entrypoint="datagrams"`)
	t.Logf("%v sessions have made room, %v datagrams were dropped", evicted, dropped)
	if int(evicted) < mostSessions {
		t.Errorf("%v sessions have made room", evicted)
	}

	to = netip.MustParseAddrPort(b.sluice.Addr("few"))
	for range 2000 {
		client, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(198, 19, 255, 1)}, net.UDPAddrFromAddrPort(to))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = client.Write([]byte("flood"))
		_ = client.Close()
	}
	harness.Until(t, "datagrams above the limit of a client are dropped", func() bool {
		return b.measured("sluice_udp_dropped_total", `entrypoint="few"`, `cause="client_limit"`) > 0
	})
	other := dial(t, "udp", b.sluice.Addr("few"))
	persist(t, other)
	if open := b.measured("sluice_udp_sessions_open", `entrypoint="few"`); int(open) > mostOfClient+1 {
		t.Errorf("%v sessions of two clients", open)
	}
	b.serves()
	b.bounded(mostSessions*sessionMemory+sockets*socketMemory, mostSessions+64)
}

// floodSocket returns a socket that sends from any address.
func floodSocket(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4zero})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// sendFrom sends a datagram from a source address.
func sendFrom(t *testing.T, conn *net.UDPConn, source [4]byte, to netip.AddrPort) {
	t.Helper()
	control := unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: source})
	if _, _, err := conn.WriteMsgUDPAddrPort([]byte("flood"), control, to); err != nil {
		t.Fatal(err)
	}
}
