package stream_test

import (
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/stream"
)

// BenchmarkConnection connects, sends a byte, gets it back and closes, with a client and a server in the same process:
// direct is what these cost alone.
func BenchmarkConnection(b *testing.B) {
	server := listen(b, echo)
	for name, proxy := range map[string]*dynamic.ProxyProtocol{
		"plain": nil, "PROXY 1": {Version: 1}, "PROXY 2": {Version: 2},
	} {
		b.Run(name, func(b *testing.B) {
			transport := stream.DefaultTransport(nil)
			transport.ProxyProtocol = proxy
			g := newRig(b, setup{servers: servers(server), transport: transport, quiet: true})
			connections(b, g.address)
		})
	}
	b.Run("direct", func(b *testing.B) { connections(b, server) })
}

func connections(b *testing.B, address string) {
	buffer := make([]byte, 1)
	b.ReportAllocs()
	for b.Loop() {
		conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Write(buffer); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, buffer); err != nil {
			b.Fatal(err)
		}
		_ = conn.(*net.TCPConn).SetLinger(0) // so that no port waits
		_ = conn.Close()
	}
}

// BenchmarkIdle measures what an idle connection holds in the proxy: its stacks and heap, beside the sockets.
func BenchmarkIdle(b *testing.B) {
	const clients = 500
	for b.Loop() {
		address, conns := accepted(b)
		g := newRig(b, setup{servers: servers(address), quiet: true})
		var held []net.Conn
		open := func(n int) {
			for range n {
				client := g.dial(b)
				exchange(b, client, "x", "")
				server := receive(b, conns)
				expect(b, server, "x")
				held = append(held, client, server)
			}
		}
		open(clients) // Buffers, maps and free memory of goroutines are there then.
		before, goroutines := memory(), runtime.NumGoroutine()
		open(clients)
		after := memory()
		b.ReportMetric(float64(after-before)/clients, "B/connection")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/clients, "goroutines/connection")
		for _, conn := range held {
			_ = conn.Close()
		}
	}
}

// memory returns the bytes of the heap and of stacks that are in use.
func memory() int64 {
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse + stats.StackInuse) //nolint:gosec // far from it
}
