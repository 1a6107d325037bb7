package handover_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/handover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeout bounds every wait of a test.
const timeout = time.Minute

// soon is a time-out that is to pass.
const soon = 50 * time.Millisecond

// receive takes from a channel what a test waits for.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// onLinux skips a test elsewhere.
func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("missing tool: sockets are handed over on Linux alone")
	}
}

// socketPath returns a path for the socket, which may have a hundred bytes.
func socketPath(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "handover") //nolint:usetesting // That of a test may have too long a path.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return filepath.Join(folder, "sluice.sock")
}

// process is a process that hands over.
type process struct {
	t        *testing.T
	path     string
	server   *handover.Server
	states   []handover.State
	final    []handover.State
	upgrader handover.Upgrader
	// announced is Offer.Announced.
	announced func(handover.State) error
	// yield is what Yield does; nil does nothing.
	yield func(context.Context) error
	// events are the calls of Service, and failed those of Offer.Failed.
	events chan string
	failed chan error
	stop   context.CancelFunc
	ended  chan error

	mutex   sync.Mutex
	sockets []handover.Socket
}

func (p *process) Sockets() []handover.Socket {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append([]handover.Socket(nil), p.sockets...)
}

func (p *process) States(yield func(handover.State) bool) {
	for _, state := range p.states {
		if !yield(state) {
			return
		}
	}
}

func (p *process) FinalStates(yield func(handover.State) bool) {
	for _, state := range p.final {
		if !yield(state) {
			return
		}
	}
}

func (p *process) Yield(ctx context.Context, successor handover.Process) error {
	p.events <- "yield to " + successor.Release
	if p.yield != nil {
		return p.yield(ctx)
	}
	return nil
}

func (p *process) Resume() { p.events <- "resume" }

func (p *process) Leave(successor handover.Process) { p.events <- "leave to " + successor.Release }

// listen opens a socket of tcp.
func (p *process) listen(name, hostPort string) net.Listener {
	p.t.Helper()
	listener, err := new(net.ListenConfig).Listen(p.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = listener.Close() })
	p.add(handover.Socket{
		Address: handover.Address{Name: name, Network: "tcp", HostPort: hostPort}, Conn: listener.(*net.TCPListener),
	})
	return listener
}

// packets opens a socket of udp.
func (p *process) packets(name, hostPort string, index int) net.PacketConn {
	p.t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(p.t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	p.add(handover.Socket{
		Address: handover.Address{Name: name, Network: "udp", HostPort: hostPort}, Index: index, Conn: conn.(*net.UDPConn),
	})
	return conn
}

func (p *process) add(socket handover.Socket) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.sockets = append(p.sockets, socket)
}

// newProcess returns a process that does not hand over yet.
func newProcess(t *testing.T) *process {
	t.Helper()
	onLinux(t)
	return &process{
		t: t, path: socketPath(t), events: make(chan string, 100), failed: make(chan error, 100),
		ended: make(chan error, 1), stop: func() {},
	}
}

// start hands over until the test ends.
func (p *process) start(limits handover.Limits) {
	p.t.Helper()
	server, err := handover.Listen(p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	server.Limit(limits)
	if err := server.Publish(); err != nil {
		p.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p.server, p.stop = server, stop
	go func() {
		p.ended <- server.Serve(ctx, handover.Offer{
			Source: p, Service: p, Upgrader: p.upgrader, Release: "1.0.0", Announced: p.announced,
			Failed: func(err error) { p.failed <- err },
		})
	}()
	p.t.Cleanup(func() {
		stop()
		p.wait()
		_ = server.Close()
	})
}

// wait waits until Serve has returned; it may be called again.
func (p *process) wait() {
	p.t.Helper()
	err := receive(p.t, p.ended, "the end of Serve")
	p.ended <- err
	if err != nil {
		p.t.Errorf("Serve: %v", err)
	}
}

// event expects a call of Service.
func (p *process) event(want string) {
	p.t.Helper()
	if got := receive(p.t, p.events, want); got != want {
		p.t.Errorf("event %q, want %q", got, want)
	}
}

// connect begins a hand-over.
func (p *process) connect() *handover.Client {
	p.t.Helper()
	client, err := handover.Connect(p.t.Context(), p.path, "2.0.0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = client.Close() })
	return client
}

// failure waits for a call of Offer.Failed.
func (p *process) failure() {
	p.t.Helper()
	_ = receive(p.t, p.failed, "a failure")
}

// open returns how many descriptors are open.
func open(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
