package datagram_test

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/forward/datagram"
)

// group returns sockets among which the kernel divides clients.
func group(t testing.TB, n int) []net.PacketConn {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	}}
	address, sockets := loopback, []net.PacketConn(nil)
	for range n {
		socket, err := config.ListenPacket(context.Background(), "udp", address)
		if err != nil {
			t.Fatal(err)
		}
		sockets, address = append(sockets, socket), socket.LocalAddr().String()
	}
	return sockets
}

// TestFlood sends from 100,000 sources that never answer: the number of sessions and the memory stay bounded, and a
// client that answers keeps its session.
func TestFlood(t *testing.T) {
	const sources, most = 100_000, 256
	if testing.Short() {
		t.Skip("not with -short: opens 100,000 sockets")
	}
	e := serveEndpoint(t, "a", loopback, func(e *endpoint, text string, from netip.AddrPort) {
		_, _ = e.conn.WriteToUDPAddrPort([]byte("a "+text), from)
	})
	sockets := group(t, 2)
	r := newRig(t, setup{
		options: datagram.Options{MaxSessions: most}, servers: []netip.AddrPort{e.addr()}, sockets: sockets,
	})
	served := r.dial()
	served.exchange("x", "a x")
	served.exchange("x", "a x")
	record := 0
	before := heap()
	for i := range sources {
		fd := socketFrom(t, [4]byte{127, byte(1 + i>>16), byte(i >> 8), byte(i)})
		_ = unix.Sendto(fd, []byte("flood"), 0, &unix.SockaddrInet4{Port: int(r.address.Port()), Addr: [4]byte{127, 0, 0, 1}})
		_ = unix.Close(fd)
		if i%1000 == 999 {
			served.persist("x", "a x")
			if got := r.Sessions(); got > most+len(sockets) {
				t.Fatalf("%d sessions", got)
			}
		}
		for len(r.records.ended) > 0 {
			if r.next().Client == served.addr() {
				t.Fatal("the session of the client that answers is over")
			}
			record++
		}
		for len(e.got) > 0 {
			<-e.got
		}
	}
	if record < sources/2 {
		t.Errorf("only %d sessions have made room", record)
	}
	if grown := int64(heap()) - int64(before); grown > 16<<20 { //nolint:gosec // less than 2^63
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// persist sends a text until it is answered: queues of the test may be full.
func (c *client) persist(text, want string) {
	c.t.Helper()
	for limit := time.Now().Add(eventTimeout); ; {
		c.send(text)
		got, err := c.receiveWithin(time.Second)
		if got == want {
			return
		}
		if time.Now().After(limit) {
			c.t.Fatalf("got %q and %v, want %q", got, err, want)
		}
	}
}

// socketFrom returns a socket with a source address.
func socketFrom(t *testing.T, source [4]byte) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: source})
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// heap returns how many bytes are alive.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestJoinedDatagrams passes on datagrams that the kernel has joined: all of them arrive, each with its size.
func TestJoinedDatagrams(t *testing.T) {
	t.Parallel()
	got := make(chan int, 1<<10)
	e := serveEndpoint(t, "a", loopback, func(e *endpoint, text string, from netip.AddrPort) {
		got <- len(text)
		if len(text) == 300 {
			sendJoined(t, e.conn, from, 10*1200+300, 1200)
		}
	})
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr()}})
	c := r.dial()
	sendJoined(t, c.conn, netip.AddrPort{}, 20*1000+300, 1000)
	for i := range 21 {
		want := 1000
		if i == 20 {
			want = 300
		}
		if size := receive(t, got); size != want {
			t.Errorf("datagram %d has %d bytes at the endpoint", i, size)
		}
	}
	for i := range 11 {
		want := 1200
		if i == 10 {
			want = 300
		}
		if text := c.receive(); len(text) != want {
			t.Errorf("datagram %d has %d bytes at the client", i, len(text))
		}
	}
	r.stop()
	record := r.next()
	if (record.FromClient != datagram.Traffic{Datagrams: 21, Bytes: 20_300}) ||
		(record.FromEndpoint != datagram.Traffic{Datagrams: 11, Bytes: 12_300}) {
		t.Errorf("got %+v", record)
	}
}

// sendJoined sends datagrams of a size, with one call where the kernel can.
func sendJoined(t *testing.T, conn *net.UDPConn, to netip.AddrPort, bytes, size int) {
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Error(err)
		return
	}
	option := func(value int) (err error) {
		_ = raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, value) })
		return err
	}
	atOnce := size
	if option(size) == nil {
		defer func() { _ = option(0) }()
		atOnce = bytes
	}
	for ; bytes > 0; bytes -= atOnce {
		data := make([]byte, min(atOnce, bytes))
		if to.IsValid() {
			_, err = conn.WriteToUDPAddrPort(data, to)
		} else {
			_, err = conn.Write(data)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestManyDatagramsAtOnce passes on bursts of all sizes in order.
func TestManyDatagramsAtOnce(t *testing.T) {
	t.Parallel()
	e := serveEndpoint(t, "a", loopback, func(e *endpoint, text string, from netip.AddrPort) {
		_, _ = e.conn.WriteToUDPAddrPort([]byte(text), from)
	})
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr()}})
	c := r.dial()
	for round := range 20 {
		var sent []string
		for i := range 50 {
			text := string(make([]byte, (i/7+round)%5*100)) + string(rune('a'+i%26))
			sent = append(sent, text)
			c.send(text)
		}
		for i, want := range sent {
			if got := c.receive(); got != want {
				t.Fatalf("round %d: datagram %d has %d bytes, want %d", round, i, len(got), len(want))
			}
		}
	}
}

// TestSocketsShareTheLimits counts the sessions of all sockets together.
func TestSocketsShareTheLimits(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	sockets := group(t, 4)
	r := newRig(t, setup{
		options: datagram.Options{MaxSessionsPerClient: 5}, servers: []netip.AddrPort{e.addr()}, sockets: sockets,
	})
	for range 5 {
		r.dial().exchange("x", "a x")
	}
	for range 5 {
		r.dial().send("x")
	}
	r.dropped(datagram.ClientLimit, 5)
	if got := r.Sessions(); got != 5 {
		t.Errorf("%d sessions", got)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if r.Shutdown(short) == nil {
		t.Error("drained with sessions")
	}
}
