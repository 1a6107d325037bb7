package stream_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/servertls"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// eventTimeout is for what happens at once unless the machine is busy.
const eventTimeout = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen accepts connections on loopback and gives each to a goroutine; at the end of the test all are closed.
func listen(t testing.TB, serve func(conn *net.TCPConn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var mutex sync.Mutex
	var conns []net.Conn
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mutex.Lock()
			conns = append(conns, conn)
			mutex.Unlock()
			running.Go(func() { serve(conn.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mutex.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mutex.Unlock()
		running.Wait()
	})
	return listener.Addr().String()
}

// refusing returns an address on which nothing listens. It is taken, so that no listener gets it meanwhile.
func refusing(t testing.TB) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	loopback := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := syscall.Bind(socket, loopback); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	port := bound.(*syscall.SockaddrInet4).Port
	return netip.AddrPortFrom(netip.AddrFrom4(loopback.Addr), uint16(port)).String() //nolint:gosec // a port
}

// accepted returns an address, and the connections to it as they come.
func accepted(t testing.TB) (address string, conns chan *net.TCPConn) {
	t.Helper()
	conns = make(chan *net.TCPConn, 100)
	return listen(t, func(conn *net.TCPConn) { conns <- conn }), conns
}

// echo sends back what comes, in order with its end.
func echo(conn *net.TCPConn) {
	_, _ = io.Copy(conn, conn)
	_ = conn.Close()
}

// setup is what a rig is made of.
type setup struct {
	servers   []dynamic.TCPServer
	transport *dynamic.TCPServersTransport
	identity  servertls.Identity
	policies  loadbalancer.Policies
	options   stream.Options
	registry  loadbalancer.Options
	// dial makes the connections to servers in place of a net.Dialer.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// wrap returns the client's side of a connection; by default it is the connection itself.
	wrap func(conn *net.TCPConn) *stream.Client
	// quiet drops the results.
	quiet bool
	// around returns what serves in place of the load balancer.
	around func(stream.Service) stream.Service
}

// rig is a proxy of one service.
type rig struct {
	registry  *loadbalancer.Registry
	pool      *loadbalancer.Pool
	transport *stream.Transport
	service   stream.Service
	address   string
	results   chan stream.Result
	stop      context.CancelFunc
}

func newRig(t testing.TB, s setup) *rig {
	t.Helper()
	if s.transport == nil {
		s.transport = stream.DefaultTransport(nil)
	}
	transport, err := stream.NewTransport("tcp@file", s.transport, s.identity)
	if err != nil {
		t.Fatal(err)
	}
	if s.dial != nil {
		transport.DialWith(s.dial)
	}
	g := &rig{transport: transport, registry: loadbalancer.NewRegistry(s.registry), results: make(chan stream.Result, 100)}
	g.pool = g.registry.NewPool("db@file")
	g.configure(t, s)
	t.Cleanup(func() { g.registry.Release("db@file") })
	s.options.Service, s.options.Transport = "db@file", transport
	g.service = stream.NewBalancer(g.pool, s.options)
	if s.around != nil {
		g.service = s.around(g.service)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = cancel
	g.address = listen(t, func(conn *net.TCPConn) {
		client := &stream.Client{Conn: conn, Address: conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()}
		if s.wrap != nil {
			client = s.wrap(conn)
		}
		result := new(stream.Result)
		g.service.Serve(ctx, client, result, func() {
			if !s.quiet {
				g.results <- *result
			}
		})
	})
	t.Cleanup(cancel)
	return g
}

// configure gives the pool the servers and policies.
func (g *rig) configure(t testing.TB, s setup) {
	t.Helper()
	spec := loadbalancer.PoolSpec{Name: "db@file", Dialer: g.transport, Policies: s.policies}
	for _, server := range s.servers {
		translated, err := loadbalancer.NewTCPServerSpec(server)
		if err != nil {
			t.Fatal(err)
		}
		spec.Servers = append(spec.Servers, translated)
	}
	g.registry.Configure(g.pool, spec)
}

// dial connects a client.
func (g *rig) dial(t testing.TB) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// refused connects a client, and demands that the connection is reset.
func (g *rig) refused(t testing.TB) stream.Result {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.address)
	switch {
	case err == nil:
		resetBy(t, conn)
		_ = conn.Close()
	case !isReset(err): // It may come before the connection is ready here.
		t.Fatal(err)
	}
	return g.result(t)
}

// result returns the result of the next connection that has ended.
func (g *rig) result(t testing.TB) stream.Result {
	t.Helper()
	return receive(t, g.results)
}

func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(eventTimeout): //nolint:forbidigo // the bound of a wait for an event
		t.Fatal("nothing has come")
		panic("unreachable")
	}
}

// exchange sends a text and demands the answer.
func exchange(t testing.TB, conn net.Conn, text, want string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	expect(t, conn, want)
}

// expect reads a text.
func expect(t testing.TB, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v, want %q", got[:n], err, want)
	}
}

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

// resetBy demands that the connection has been reset.
func resetBy(t testing.TB, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(eventTimeout))
	if n, err := conn.Read(make([]byte, 1)); !isReset(err) {
		t.Errorf("read %d, %v, want a reset", n, err)
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func servers(addresses ...string) []dynamic.TCPServer {
	all := make([]dynamic.TCPServer, 0, len(addresses))
	for _, address := range addresses {
		all = append(all, dynamic.TCPServer{Address: address})
	}
	return all
}

// member returns the member of the pool with the address.
func (g *rig) member(t testing.TB, address string) *loadbalancer.Member {
	t.Helper()
	for member := range g.pool.Snapshot().Members() {
		if member.Address() == netip.MustParseAddrPort(address).String() {
			return member
		}
	}
	t.Fatalf("the pool has no %s", address)
	return nil
}
