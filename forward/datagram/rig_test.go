package datagram_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// eventTimeout is for what happens at once unless the machine is busy.
const eventTimeout = 30 * time.Second

// loopback is an address on which tests listen.
const loopback = "127.0.0.1:0"

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// rig is a server with one route.
type rig struct {
	t testing.TB
	*datagram.Server
	router   *datagram.Router
	dialer   *datagram.Dialer
	registry *loadbalancer.Registry
	pool     *loadbalancer.Pool
	records  *records
	address  netip.AddrPort
	stop     func()
}

// setup is what a test wants to be different.
type setup struct {
	options datagram.Options
	listen  string
	// sockets are those of the server instead of one at listen.
	sockets   []net.PacketConn
	servers   []netip.AddrPort
	policies  loadbalancer.Policies
	responses int
	noRoute   bool
	// prepare is called before the server begins.
	prepare func(*rig)
}

func newRig(t testing.TB, s setup) *rig {
	t.Helper()
	r := &rig{
		t: t, router: &datagram.Router{}, dialer: datagram.NewDialer(),
		registry: loadbalancer.NewRegistry(loadbalancer.Options{}), records: newRecords(),
	}
	s.options.EntryPoint, s.options.Observer = "dns", r.records
	if s.options.Timeout == 0 {
		s.options.Timeout = time.Minute
	}
	if s.options.MaxSessions == 0 {
		s.options.MaxSessions = 10_000
	}
	if s.listen == "" {
		s.listen = loopback
	}
	r.Server = datagram.NewServer(r.router, s.options)
	r.pool = r.newPool("names@file", s.policies, s.servers...)
	if !s.noRoute {
		r.router.Set(&datagram.Route{RouterName: "all@file", Service: datagram.NewPool(r.pool, s.responses)})
	}
	if s.sockets == nil {
		s.sockets = []net.PacketConn{listen(t, s.listen)}
	}
	if s.prepare != nil {
		s.prepare(r)
	}
	r.start(s.sockets)
	return r
}

// newPool makes a pool of servers, or changes it.
func (r *rig) newPool(name string, policies loadbalancer.Policies, servers ...netip.AddrPort) *loadbalancer.Pool {
	pool, known := r.registry.Lookup(name)
	if !known {
		pool = r.registry.NewPool(name)
	}
	spec := loadbalancer.PoolSpec{Name: name, Dialer: r.dialer, Policies: policies}
	for _, server := range servers {
		spec.Servers = append(spec.Servers, loadbalancer.ServerSpec{Address: server, Scheme: datagram.Scheme, Weight: 1})
	}
	r.registry.Configure(pool, spec)
	r.registry.Flush(time.Now())
	return pool
}

func (r *rig) start(sockets []net.PacketConn) {
	r.address = addrOf(sockets[0])
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.ServePackets(ctx, sockets) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := receive(r.t, ended); err != nil {
			r.t.Errorf("the server ends with %v", err)
		}
	})
	r.t.Cleanup(r.stop)
}

// dial returns a client.
func (r *rig) dial() *client { return dial(r.t, "", r.address) }

// dropped checks how many datagrams were dropped for a cause, as soon as they are.
func (r *rig) dropped(cause datagram.Cause, want uint64) {
	r.t.Helper()
	eventually(r.t, func() bool { return r.Dropped(cause) >= want }, cause.String())
	if got := r.Dropped(cause); got != want {
		r.t.Errorf("%v: got %d, want %d", cause, got, want)
	}
}

// records are an observer that keeps what it gets.
type records struct{ ended chan datagram.Record }

func newRecords() *records { return &records{ended: make(chan datagram.Record, 1<<18)} }

// SessionEnded keeps the record.
func (r *records) SessionEnded(record *datagram.Record) { r.ended <- *record }

// next returns the next record.
func (r *rig) next() datagram.Record {
	r.t.Helper()
	return receive(r.t, r.records.ended)
}

// client is a client of a server.
type client struct {
	t    testing.TB
	conn *net.UDPConn
}

// dial connects a socket, from a source address if one is given.
func dial(t testing.TB, from string, to netip.AddrPort) *client {
	t.Helper()
	var local *net.UDPAddr
	if from != "" {
		local = net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))
	}
	conn, err := net.DialUDP("udp", local, net.UDPAddrFromAddrPort(to))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t: t, conn: conn}
}

func (c *client) addr() netip.AddrPort { return addrOf(c.conn) }

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) receive() string {
	c.t.Helper()
	text, err := c.receiveWithin(eventTimeout)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

func (c *client) receiveWithin(limit time.Duration) (string, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(limit))
	buffer := make([]byte, 64<<10)
	n, err := c.conn.Read(buffer)
	return string(buffer[:n]), err
}

// exchange sends a text and checks the answer.
func (c *client) exchange(text, want string) {
	c.t.Helper()
	c.send(text)
	if got := c.receive(); got != want {
		c.t.Fatalf("%q: got %q, want %q", text, got, want)
	}
}

// listenOn returns a client that sends to any address.
func listenOn(t testing.TB, address string) *client {
	t.Helper()
	conn := listen(t, address)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t: t, conn: conn}
}

// receiveFrom checks what comes, and returns its source.
func (c *client) receiveFrom(want string) netip.AddrPort {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(eventTimeout))
	buffer := make([]byte, 64<<10)
	n, from, err := c.conn.ReadFromUDPAddrPort(buffer)
	if err != nil || string(buffer[:n]) != want {
		c.t.Fatalf("got %q and %v, want %q", buffer[:n], err, want)
	}
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
}

// endpoint is a server that answers each datagram with its name and what it got.
type endpoint struct {
	name string
	conn *net.UDPConn
	got  chan string
	// from are the sources that it has seen.
	mutex sync.Mutex
	from  []netip.AddrPort
	seen  map[netip.AddrPort]bool
}

func newEndpoint(t testing.TB, name, address string) *endpoint {
	t.Helper()
	return serveEndpoint(t, name, address, func(e *endpoint, text string, from netip.AddrPort) {
		_, _ = e.conn.WriteToUDPAddrPort([]byte(e.name+" "+text), from)
	})
}

// serveEndpoint calls answer for each datagram.
func serveEndpoint(
	t testing.TB, name, address string, answer func(e *endpoint, text string, from netip.AddrPort),
) *endpoint {
	t.Helper()
	conn := listen(t, address)
	e := &endpoint{name: name, conn: conn, got: make(chan string, 1<<16), seen: map[netip.AddrPort]bool{}}
	var done sync.WaitGroup
	done.Go(func() {
		buffer := make([]byte, 64<<10)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			e.mutex.Lock()
			if !e.seen[from] {
				e.seen[from] = true
				e.from = append(e.from, from)
			}
			e.mutex.Unlock()
			e.got <- string(buffer[:n])
			answer(e, string(buffer[:n]), from)
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		done.Wait()
	})
	return e
}

func (e *endpoint) addr() netip.AddrPort { return addrOf(e.conn) }

// sources returns how many sources the endpoint has seen.
func (e *endpoint) sources() int {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return len(e.from)
}

// sendBack sends a text to the first source that the endpoint has seen.
func (e *endpoint) sendBack(text string) { e.sendTo(0, text) }

// sendTo sends a text to the source that the endpoint has seen as the one of that index.
func (e *endpoint) sendTo(index int, text string) {
	e.mutex.Lock()
	source := e.from[index]
	e.mutex.Unlock()
	_, _ = e.conn.WriteToUDPAddrPort([]byte(text), source)
}

// refusing returns an address that refuses datagrams. A socket has its port until the test ends, so that no other gets
// it but one that listens on that port by number.
func refusing(t testing.TB) netip.AddrPort {
	t.Helper()
	conn := listen(t, loopback)
	t.Cleanup(func() { _ = conn.Close() })
	refuse(t, conn)
	return addrOf(conn)
}

// refuse has a socket keep its port and receive nothing: it is connected to a port that sends nothing.
func refuse(t testing.TB, conn *net.UDPConn) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
			syscall.Connect(int(fd), &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 1}),
		)
	})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
}

func listen(t testing.TB, address string) *net.UDPConn {
	t.Helper()
	config := new(net.ListenConfig)
	if !strings.HasSuffix(address, ":0") { // It may be the address of a socket that refuses.
		config.Control = func(_, _ string, raw syscall.RawConn) error {
			var failed error
			err := raw.Control(func(fd uintptr) {
				failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
			})
			return errors.Join(err, failed)
		}
	}
	conn, err := config.ListenPacket(context.Background(), "udp", address)
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*net.UDPConn)
}

func addrOf(conn interface{ LocalAddr() net.Addr }) netip.AddrPort {
	addr := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}

// receive returns what comes from a channel.
func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	timer := time.NewTimer(eventTimeout)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("no %T within %v", *new(T), eventTimeout)
		panic("unreachable")
	}
}

// eventually waits until something is so.
func eventually(t testing.TB, is func() bool, what string) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for limit := time.Now().Add(eventTimeout); !is(); <-ticker.C {
		if time.Now().After(limit) {
			t.Fatalf("not within %v: %s", eventTimeout, what)
		}
	}
}
