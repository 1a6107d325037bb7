package harness

import (
	"io"
	"net"
	"sync"
	"testing"
)

// StartServer accepts TCP connections until the test ends, each of which is closed when serve returns, and returns the
// address.
func StartServer(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// StartEcho starts a TCP server that sends back what it gets until the test ends, and returns its address.
func StartEcho(t testing.TB) string {
	t.Helper()
	return StartServer(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
}

// PacketEcho is a UDP server that sends back what it gets. It must be made by [StartPacketEcho].
type PacketEcho struct {
	// Address is where it listens.
	Address string

	mutex   sync.Mutex
	sources map[string]struct{}
}

// StartPacketEcho starts a server, which runs until the test ends.
func StartPacketEcho(t testing.TB) *PacketEcho {
	t.Helper()
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	p := &PacketEcho{Address: socket.LocalAddr().String(), sources: map[string]struct{}{}}
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			p.mutex.Lock()
			p.sources[from.String()] = struct{}{}
			p.mutex.Unlock()
			_, _ = socket.WriteTo(buffer[:n], from)
		}
	}()
	return p
}

// Sources returns from how many addresses datagrams have come.
func (p *PacketEcho) Sources() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.sources)
}
