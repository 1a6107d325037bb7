package relay_test

import (
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/forward/relay"
)

// idleCost is what one idle connection costs.
type idleCost struct{ descriptors, bytes, stacks int }

// joinIdle has the relay join two connections, with a context and a timer.
func joinIdle(t testing.TB) idleJoiner {
	engine, ctx := new(relay.Engine), t.Context()
	return func(client, server net.Conn, done func()) {
		go engine.Join(client, server, relay.Options{IdleTimeout: time.Hour}).Serve(ctx, func(relay.Result) { done() })
	}
}

// idleJoiner joins two connections, and calls done when they have ended.
type idleJoiner func(client, server net.Conn, done func())

// holdIdle is the least that two connections cost: one goroutine echoes a byte each, and waits for the client's end.
func holdIdle(client, server net.Conn, done func()) { go hold(client, server, done) }

func hold(client, server net.Conn, done func()) {
	defer done()
	piece := make([]byte, 1)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}, {client, server}} {
		_, _ = pair[0].Read(piece)
		_, _ = pair[1].Write(piece)
	}
	_, _ = client.Close(), server.Close()
}

// measureIdle hands so many pairs of connections to run, and waits until at most so many goroutines are left for each.
// The peers are bare descriptors.
func measureIdle(t testing.TB, pairs, goroutines int, run idleJoiner) idleCost {
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
	running := runtime.NumGoroutine()
	for i := range pairs {
		client, server := accept(t, listener, address, far[2*i]), accept(t, listener, address, far[2*i+1])
		all.Add(1)
		run(client, server, all.Done)
	}
	echoAll(t, far)
	// The set that reports events has a goroutine too.
	waitFor(t, func() bool { return runtime.NumGoroutine() <= running+1+goroutines*pairs })
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
	b.Run("joined", func(b *testing.B) { reportIdle(b, 0, joinIdle(b)) })
	b.Run("held", func(b *testing.B) { reportIdle(b, 1, holdIdle) })
}

func reportIdle(b *testing.B, goroutines int, run idleJoiner) {
	for b.Loop() {
		cost := measureIdle(b, 4000, goroutines, run)
		b.ReportMetric(float64(cost.bytes), "B/connection")
		b.ReportMetric(float64(cost.stacks), "B-stack/connection")
		b.ReportMetric(float64(cost.descriptors), "fd/connection")
	}
}

// TestParked has each event come to connections that have no goroutine.
func TestParked(t *testing.T) {
	exchange := func(t *testing.T, g *rig) {
		write(t, g.client, "to the server")
		expect(t, g.server, "to the server")
		write(t, g.server, "back")
		expect(t, g.client, "back")
	}
	for name, event := range map[string]func(t *testing.T, g *rig){
		"bytes": func(t *testing.T, g *rig) {
			exchange(t, g)
			closeWrite(t, g.client)
			expectEnd(t, g.server, "")
			_ = g.server.Close()
			g.ends(t, relay.ClientEOF, relay.ServerEOF)
		},
		"end of the server": func(t *testing.T, g *rig) {
			closeWrite(t, g.server)
			expectEnd(t, g.client, "")
			write(t, g.client, "more")
			expect(t, g.server, "more")
			_ = g.client.Close()
			g.ends(t, relay.ServerEOF, relay.ClientEOF)
		},
		"reset of the client": func(t *testing.T, g *rig) {
			reset(t, g.client)
			expectReset(t, g.server)
			g.ends(t, relay.ClientReset, relay.ClientReset)
		},
		"reset of the server": func(t *testing.T, g *rig) {
			reset(t, g.server)
			expectReset(t, g.client)
			g.ends(t, relay.ServerReset, relay.ServerReset)
		},
		"end of the context": func(t *testing.T, g *rig) {
			g.cancel()
			expectEnd(t, g.client, "")
			g.ends(t, relay.Shutdown, relay.Shutdown)
		},
		"shutdown": func(t *testing.T, g *rig) {
			g.shutdown()
			expectEnd(t, g.server, "")
			g.ends(t, relay.Shutdown, relay.Shutdown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			// A byte that was read before must not keep the client's goroutine.
			g := newRig(t, setup{options: forEver(), aroundClient: func(c net.Conn) io.ReadWriteCloser {
				return &aheadConn{c.(*net.TCPConn), []byte("a")}
			}})
			expect(t, g.server, "a")
			exchange(t, g)
			// What is left is the goroutine of the set.
			waitFor(t, func() bool { return runtime.NumGoroutine() <= before+1 })
			event(t, g)
		})
	}
}

// TestShutdownBeforeServe ends connections that are not served yet.
func TestShutdownBeforeServe(t *testing.T) {
	client, nearClient := connect(t, false)
	_, nearServer := connect(t, false)
	joined := new(relay.Engine).Join(nearClient, nearServer, forEver())
	joined.Shutdown()
	results := make(chan relay.Result, 1)
	joined.Serve(t.Context(), func(result relay.Result) { results <- result })
	expectEnd(t, client, "")
	if result := <-results; result.Final != relay.Shutdown {
		t.Errorf("%+v", result)
	}
}

// waitFor waits until something holds.
func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(eventTimeout); !holds(); <-tick.C {
		if time.Now().After(until) {
			t.Fatal("it has not come to pass")
		}
	}
}
