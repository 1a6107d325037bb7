package relay_test

import (
	"net"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/forward/relay"
)

// idleCost is what one idle connection costs.
type idleCost struct{ descriptors, bytes, stacks int }

// joinIdle has the relay join two connections, with a context and a timer.
func joinIdle(t testing.TB) func(client, server net.Conn) {
	engine, ctx := new(relay.Engine), t.Context()
	return func(client, server net.Conn) {
		engine.Run(ctx, client, server, relay.Options{IdleTimeout: eventTimeout})
	}
}

// holdIdle is the least that two connections cost: one goroutine echoes a byte each, and waits for the client's end.
func holdIdle(client, server net.Conn) {
	piece := make([]byte, 1)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}, {client, server}} {
		_, _ = pair[0].Read(piece)
		_, _ = pair[1].Write(piece)
	}
	_, _ = client.Close(), server.Close()
}

// measureIdle hands so many pairs of connections to run, each in a goroutine. The peers are bare descriptors.
func measureIdle(t testing.TB, pairs int, run func(client, server net.Conn)) idleCost {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // a test's
	address := &unix.SockaddrInet4{Port: listener.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	far := make([]int, 0, 2*pairs)
	defer func() {
		for _, fd := range far {
			_ = unix.Close(fd)
		}
	}()
	for range 2 * pairs {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		far = append(far, fd)
	}
	var all sync.WaitGroup
	before := descriptors(t)
	bytes, stacks := inUse()
	for i := range pairs {
		client, server := accept(t, listener, address, far[2*i]), accept(t, listener, address, far[2*i+1])
		all.Go(func() { run(client, server) })
	}
	echoAll(t, far)
	after, stacksAfter := inUse()
	cost := idleCost{
		(descriptors(t) - before + pairs/2) / pairs, (after - bytes) / pairs, (stacksAfter - stacks) / pairs,
	}
	for _, fd := range far {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
	}
	all.Wait()
	return cost
}

func accept(t testing.TB, listener net.Listener, address unix.Sockaddr, fd int) net.Conn {
	t.Helper()
	if err := unix.Connect(fd, address); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// echoAll sends a byte through every connection in both directions.
func echoAll(t testing.TB, far []int) {
	t.Helper()
	piece := make([]byte, 16)
	for i := range far {
		if _, err := unix.Write(far[i], piece[:1]); err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Read(far[i^1], piece); n != 1 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
}

// inUse returns the bytes of heap and stacks in use, and those of stacks alone.
func inUse() (all, stacks int) {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc + stats.StackInuse), int(stats.StackInuse)
}

// BenchmarkIdle reports what an idle connection costs, and what it costs without the relay.
func BenchmarkIdle(b *testing.B) {
	b.Run("joined", func(b *testing.B) { reportIdle(b, joinIdle(b)) })
	b.Run("held", func(b *testing.B) { reportIdle(b, holdIdle) })
}

func reportIdle(b *testing.B, run func(client, server net.Conn)) {
	for b.Loop() {
		cost := measureIdle(b, 4000, run)
		b.ReportMetric(float64(cost.bytes), "B/connection")
		b.ReportMetric(float64(cost.stacks), "B-stack/connection")
		b.ReportMetric(float64(cost.descriptors), "fd/connection")
	}
}
