package datagram_test

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkRoundTrips relays round trips of 1,000 sessions in turn, as many at once as queues of the default size hold.
// CPU is that of the whole process: clients and endpoint are in it.
func BenchmarkRoundTrips(b *testing.B) {
	const sessions, window = 1000, 100
	e := serveEcho(b)
	r := newRig(b, setup{servers: []netip.AddrPort{e}, sockets: group(b, 1)})
	clients := make([]*net.UDPConn, sessions)
	for i := range clients {
		c := r.dial()
		c.exchange("x", "x")
		clients[i] = c.conn
	}
	payload := make([]byte, 64)
	cpu := cpuTime(b)
	b.ReportAllocs()
	b.ResetTimer()
	var received atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for sent := 0; sent < b.N; {
			first, burst := sent%sessions, min(window, b.N-sent)
			for _, conn := range clients[first:][:burst] {
				_, _ = conn.Write(payload)
			}
			for _, conn := range clients[first:][:burst] {
				_ = conn.SetReadDeadline(time.Now().Add(time.Second))
				if _, err := conn.Read(buffer); err == nil {
					received.Add(1)
				}
			}
			sent += burst
		}
	}()
	<-done
	b.StopTimer()
	b.ReportMetric(float64(cpuTime(b)-cpu)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N-int(received.Load()))/float64(b.N), "lost/op")
}

// BenchmarkBulk relays datagrams of one session that are sent 40 at a time.
func BenchmarkBulk(b *testing.B) {
	const size, burst = 1200, 40
	e := serveEcho(b)
	r := newRig(b, setup{servers: []netip.AddrPort{e}, sockets: group(b, 1)})
	c := r.dial()
	c.exchange("x", "x")
	raw, err := c.conn.SyscallConn()
	if err != nil {
		b.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size)
		_ = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, 1)
	})
	payload, buffer := make([]byte, burst*size), make([]byte, 64<<10)
	b.ReportAllocs()
	b.SetBytes(size)
	b.ResetTimer()
	for range b.N/burst + 1 {
		if _, err := c.conn.Write(payload); err != nil {
			b.Fatal(err)
		}
		for got := 0; got < len(payload); {
			_ = c.conn.SetReadDeadline(time.Now().Add(time.Second))
			n, err := c.conn.Read(buffer)
			if err != nil {
				break // Lost.
			}
			got += n
		}
	}
}

// serveEcho returns the address of an endpoint that sends back what it gets, without allocating.
func serveEcho(b *testing.B) netip.AddrPort {
	b.Helper()
	conn := listen(b, loopback)
	b.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(buffer[:n], from)
		}
	}()
	return addrOf(conn)
}

// cpuTime returns the CPU time of the process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
