package datagram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// copyOf returns another descriptor of a socket, as another process gets it.
func copyOf(t *testing.T, conn syscall.Conn) *os.File {
	t.Helper()
	fd, err := -1, error(nil)
	raw, failed := conn.SyscallConn()
	if failed == nil {
		failed = raw.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	}
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "socket")
}

// copies returns other descriptors of sockets.
func copies(t *testing.T, sockets []net.PacketConn) []net.PacketConn {
	t.Helper()
	var all []net.PacketConn
	for _, socket := range sockets {
		file := copyOf(t, socket.(*net.UDPConn))
		conn, err := net.FilePacketConn(file)
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		all = append(all, conn)
	}
	return all
}

// park parks a server, and returns what another process gets of it by the last limit.
func (r *rig) park(limits ...int) datagram.Handed {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	if err := r.Park(ctx); err != nil {
		r.t.Fatal(err)
	}
	var handed datagram.Handed
	for _, limit := range limits {
		handed = r.Handed(limit)
	}
	state, err := json.Marshal(handed)
	if err != nil {
		r.t.Fatal(err)
	}
	received := datagram.Handed{Omitted: handed.Omitted}
	if err := json.Unmarshal(state, &received); err != nil {
		r.t.Fatal(err)
	}
	for i := range received.Sessions {
		file := copyOf(r.t.(*testing.T), handed.Sessions[i].Conn)
		conn, err := net.FileConn(file)
		if err != nil {
			r.t.Fatal(err)
		}
		_ = file.Close()
		received.Sessions[i].Conn = conn.(*net.UDPConn)
	}
	return received
}

// adopting has a server go on with the sessions of another one.
func adopting(handed datagram.Handed) func(*rig) {
	return func(r *rig) { r.Adopt(handed, r.registry) }
}

// openDescriptors returns how many descriptors are open.
func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestHandOver has sessions go on at another server of the same sockets: from the same port, with all counts, and with
// what has come meanwhile. It is not parallel, since it counts descriptors.
func TestHandOver(t *testing.T) {
	e := newEndpoint(t, "a", loopback)
	sockets := group(t, 2)
	inherited := copies(t, sockets)
	servers := []netip.AddrPort{e.addr()}
	first := newRig(t, setup{sockets: sockets, servers: servers})
	clients := make([]*client, 20)
	for i := range clients {
		clients[i] = first.dial()
		clients[i].exchange("x", "a x")
	}
	clients[0].exchange("y", "a y")
	before := openDescriptors(t)
	handed := first.park(len(clients))
	if got := openDescriptors(t); got != before+len(clients) {
		t.Errorf("%d descriptors, want %d", got, before+len(clients))
	}
	if len(handed.Sessions) != len(clients) || handed.Sessions[0].Client != clients[0].addr() {
		t.Errorf("%d sessions, the newest of %v", len(handed.Sessions), handed.Sessions[0].Client)
	}
	for _, c := range clients {
		c.send("z")
	}
	e.sendBack("late")
	second := newRig(t, setup{sockets: inherited, servers: servers, prepare: adopting(handed)})
	first.Leave()
	got := map[string]bool{clients[0].receive(): true, clients[0].receive(): true}
	if !got["a z"] || !got["late"] {
		t.Errorf("got %v", got)
	}
	for _, c := range clients[1:] {
		if got := c.receive(); got != "a z" {
			t.Errorf("got %q", got)
		}
	}
	if got := e.sources(); got != len(clients) {
		t.Errorf("the endpoint has seen %d sources, want %d", got, len(clients))
	}
	first.stop()
	if len(first.records.ended) > 0 || first.Sessions() != 0 || e.inFlight(first.pool) != 0 {
		t.Errorf("the first server has %d records and %d sessions", len(first.records.ended), first.Sessions())
	}
	// Of the first one, a set, a waker and a socket for each of its workers are closed, too.
	if got, want := openDescriptors(t), before-2*3+2*2; got > want {
		t.Errorf("%d descriptors, want %d", got, want)
	}
	if second.Sessions() != len(clients) || e.inFlight(second.pool) != len(clients) {
		t.Errorf("%d sessions, %d in flight", second.Sessions(), e.inFlight(second.pool))
	}
	second.stop()
	for range clients {
		record := second.next()
		count := uint64(2)
		if record.Client == clients[0].addr() {
			count = 3
		}
		if record.FromClient.Datagrams != count || record.Router != "all@file" || record.Service != "names@file" ||
			record.Reason != datagram.Shutdown || record.Endpoint != e.addr() || record.EntryPoint != "dns" {
			t.Errorf("got %+v", record)
		}
	}
}

// TestUnpark goes on where no other process does, with what has come meanwhile.
func TestUnpark(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr()}, sockets: group(t, 2)})
	c, other := r.dial(), r.dial()
	c.exchange("x", "a x")
	for range 2 {
		handed := r.park(10)
		for _, one := range handed.Sessions {
			_ = one.Conn.(*net.UDPConn).Close()
		}
		if err := r.Park(t.Context()); err == nil {
			t.Error("parked twice")
		}
		lent := r.Handed(10).Sessions[0].Conn
		c.send("y")
		other.send("z")
		e.sendBack("late")
		r.Unpark()
		got := map[string]bool{c.receive(): true, c.receive(): true}
		if !got["a y"] || !got["late"] || other.receive() != "a z" {
			t.Errorf("got %v", got)
		}
		raw, _ := lent.SyscallConn()
		if err := raw.Control(func(uintptr) {}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the socket of a session that goes on: %v", err)
		}
	}
	if got := e.sources(); got != 2 {
		t.Errorf("the endpoint has seen %d sources, want 2", got)
	}
	r.Unpark()
	r.Leave()
	c.exchange("x", "a x")
	// The server ends after what has been begun.
	r.park(0)
	r.Unpark()
	r.stop()
	for range 2 {
		if record := r.next(); record.Reason != datagram.Shutdown {
			t.Errorf("got %+v", record)
		}
	}
}

// TestParkedSessionsAreNotIdle goes on with a session after a hand-over that has failed, however long it took.
func TestParkedSessionsAreNotIdle(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{
		servers: []netip.AddrPort{e.addr()}, sockets: group(t, 1), options: datagram.Options{Timeout: timeout},
	})
	c := r.dial()
	c.exchange("x", "a x")
	r.park(0)
	timer := time.NewTimer(timeout + timeout/2)
	<-timer.C
	r.Unpark()
	c.exchange("y", "a y")
	if got := e.sources(); got != 1 {
		t.Errorf("the endpoint has seen %d sources, want 1", got)
	}
}

// TestParkBeforeServing parks a server that begins to serve meanwhile, and one that has left before.
func TestParkBeforeServing(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr()}, prepare: func(r *rig) { r.park(0) }})
	c := r.dial()
	c.send("x")
	r.Unpark()
	if got := c.receive(); got != "a x" {
		t.Errorf("got %q", got)
	}
	left := newRig(t, setup{prepare: func(other *rig) {
		handed := r.park(10)
		r.Unpark()
		other.Adopt(handed, other.registry)
		other.park(0)
		other.Leave()
	}})
	left.stop()
	if len(left.records.ended) > 0 {
		t.Errorf("got %+v", left.next())
	}
	c.exchange("y", "a y")
}

// TestHandedOverAfterChange goes on with sessions whose endpoint or service is gone, as after a change of the
// configuration.
func TestHandedOverAfterChange(t *testing.T) {
	t.Parallel()
	const drain = 300 * time.Millisecond
	for _, test := range []struct {
		name string
		// before and after are the drain times of the service, and gone is whether the next process does not have it.
		before, after time.Duration
		gone          bool
		want          datagram.Reason
	}{
		{"endpoint", 0, 0, false, datagram.Shutdown},
		{"endpoint with drain time", 0, drain, false, datagram.Drained},
		{"service", 0, 0, true, datagram.Shutdown},
		{"service with drain time", drain, 0, true, datagram.Drained},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, b := newEndpoint(t, "a", loopback), newEndpoint(t, "b", loopback)
			sockets := group(t, 1)
			inherited := copies(t, sockets)
			first := newRig(t, setup{
				sockets: sockets, servers: []netip.AddrPort{a.addr()}, policies: loadbalancer.Policies{DrainTime: test.before},
			})
			c := first.dial()
			c.exchange("x", "a x")
			handed := first.park(1)
			began := time.Now()
			second := newRig(t, setup{
				sockets: inherited, servers: []netip.AddrPort{b.addr()},
				policies: loadbalancer.Policies{DrainTime: test.after},
				prepare: func(r *rig) {
					if test.gone {
						r.registry.Release("names@file")
						r.router.Set(nil)
					}
					r.Adopt(handed, r.registry)
				},
			})
			first.Leave()
			if test.want == datagram.Shutdown {
				c.exchange("y", "a y")
				again := second.park(1)
				if got := again.Sessions[0]; got.Service != "names@file" || got.Endpoint != a.addr() {
					t.Errorf("got %+v", got)
				}
				_ = again.Sessions[0].Conn.(*net.UDPConn).Close()
				second.Unpark()
				c.exchange("y", "a y")
				second.stop()
			}
			record := second.next()
			if record.Reason != test.want || record.Endpoint != a.addr() || record.Service != "names@file" {
				t.Errorf("got %+v", record)
			}
			if took := time.Since(began); test.want == datagram.Drained && took < drain {
				t.Errorf("ended after %v", took)
			}
		})
	}
}

// TestHandedOverRefusal sends a datagram to another endpoint that one of a session without a member refuses.
func TestHandedOverRefusal(t *testing.T) {
	t.Parallel()
	a, b := newEndpoint(t, "a", loopback), newEndpoint(t, "b", loopback)
	sockets := group(t, 1)
	inherited := copies(t, sockets)
	first := newRig(t, setup{sockets: sockets, servers: []netip.AddrPort{a.addr()}})
	c := first.dial()
	c.exchange("x", "a x")
	handed := first.park(1)
	newRig(t, setup{sockets: inherited, servers: []netip.AddrPort{b.addr()}, prepare: adopting(handed)})
	first.Leave()
	refuse(t, a.conn)
	c.exchange("y", "b y")
}

// TestHandedLimits ends the sessions beyond the limits of either side, those that are idle for longer first.
func TestHandedLimits(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	sockets := group(t, 1)
	inherited := copies(t, sockets)
	servers := []netip.AddrPort{e.addr()}
	first := newRig(t, setup{sockets: sockets, servers: servers})
	clients := make([]*client, 4)
	for i := range clients {
		clients[i] = first.dial()
		clients[i].exchange("x", "a x")
	}
	handed := first.park(4, 3)
	if handed.Omitted != 1 || len(handed.Sessions) != 3 {
		t.Errorf("%d sessions, without %d", len(handed.Sessions), handed.Omitted)
	}
	second := newRig(t, setup{
		sockets: inherited, servers: servers, options: datagram.Options{MaxSessions: 2}, prepare: adopting(handed),
	})
	first.Leave()
	if record := first.next(); record.Client != clients[0].addr() || record.Reason != datagram.Shutdown {
		t.Errorf("got %+v", record)
	}
	if record := second.next(); record.Client != clients[1].addr() || record.Reason != datagram.Evicted {
		t.Errorf("got %+v", record)
	}
	clients[2].exchange("y", "a y")
	clients[3].exchange("y", "a y")
	if got := e.sources(); got != 4 {
		t.Errorf("the endpoint has seen %d sources, want 4", got)
	}
}

// TestHandedOverIdle ends a session that nothing was sent in for the time-out, of which a part was in another process.
func TestHandedOverIdle(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	e := newEndpoint(t, "a", loopback)
	sockets := group(t, 1)
	inherited := copies(t, sockets)
	servers := []netip.AddrPort{e.addr()}
	first := newRig(t, setup{sockets: sockets, servers: servers, options: datagram.Options{Timeout: timeout}})
	first.dial().exchange("x", "a x")
	handed := first.park(1)
	handed.Sessions[0].Idle, handed.Sessions[0].Age = timeout-100*time.Millisecond, timeout
	second := newRig(t, setup{
		sockets: inherited, servers: servers, options: datagram.Options{Timeout: timeout}, prepare: adopting(handed),
	})
	first.Leave()
	if record := second.next(); record.Reason != datagram.Idle || record.Duration < timeout {
		t.Errorf("got %+v", record)
	}
}

// TestEpollForgetsSessions ends a session whose socket another process has, after a hand-over that has failed: the
// epoll set would report its events for as long as that process has it. It is not parallel, since it counts what all
// sets of the process watch.
func TestEpollForgetsSessions(t *testing.T) {
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr()}, options: datagram.Options{MaxSessions: 1}})
	c, other := r.dial(), r.dial()
	c.exchange("x", "a x")
	handed := r.park(1)
	defer func() { _ = handed.Sessions[0].Conn.(*net.UDPConn).Close() }()
	r.Unpark()
	before := polled(t)
	other.exchange("z", "a z")
	if record := r.next(); record.Reason != datagram.Evicted {
		t.Errorf("got %+v", record)
	}
	if got := polled(t); got != before {
		t.Errorf("the sets watch %d files, want %d", got, before)
	}
}

// polled returns how many files the epoll sets of the process watch.
func polled(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		info, _ := os.ReadFile(file) // That of Glob is gone.
		count += bytes.Count(info, []byte("tfd:"))
	}
	return count
}
