package harness

import (
	"io"
	"net"
	"testing"
)

// StartEcho starts a TCP server that sends back what it gets until the test ends, and returns its address.
func StartEcho(t testing.TB) string {
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
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// StartPacketEcho starts a UDP server that sends back what it gets until the test ends, and returns its address.
func StartPacketEcho(t testing.TB) string {
	t.Helper()
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(buffer[:n], from)
		}
	}()
	return socket.LocalAddr().String()
}
