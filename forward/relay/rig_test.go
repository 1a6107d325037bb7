package relay_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/forward/relay"
	"github.com/sluiceproxy/sluice/httpio"
)

// eventTimeout is for what happens at once unless the machine is busy.
const eventTimeout = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conn is what the peers of a relay use of their connections.
type conn interface {
	net.Conn
	httpio.HalfCloser
}

// rig is a client and a server that are joined.
type rig struct {
	client, server conn
	// cancel ends the context of the relay.
	cancel context.CancelFunc
	// nearClient and nearServer are the relay's sides.
	nearClient, nearServer net.Conn
	results                chan relay.Result
	shutdown               func()
}

type setup struct {
	options              relay.Options
	clientTLS, serverTLS bool
	aroundClient         func(net.Conn) io.ReadWriteCloser
	smallBuffers         bool
	engine               *relay.Engine
}

// forEver is for tests that half-close.
func forEver() relay.Options { return relay.Options{TerminationDelay: -1} }

func newRig(t testing.TB, s setup) *rig {
	t.Helper()
	g := &rig{results: make(chan relay.Result, 1)}
	g.client, g.nearClient = connect(t, s.clientTLS)
	g.server, g.nearServer = connect(t, s.serverTLS)
	if s.smallBuffers {
		for _, c := range []net.Conn{g.client, g.nearClient, g.server, g.nearServer} {
			tcp := httpio.Bottom(c).(*net.TCPConn)
			_ = tcp.SetReadBuffer(128 << 10)
			_ = tcp.SetWriteBuffer(16 << 10)
		}
	}
	engine := s.engine
	if engine == nil {
		engine = new(relay.Engine)
		engine.SetParkAfter(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	var client io.ReadWriteCloser = g.nearClient
	if s.aroundClient != nil {
		client = s.aroundClient(g.nearClient)
	}
	var done sync.WaitGroup
	done.Add(1)
	joined := engine.Join(client, g.nearServer, s.options)
	g.shutdown = joined.Shutdown
	go joined.Serve(ctx, func(result relay.Result) {
		g.results <- result
		done.Done()
	})
	t.Cleanup(func() {
		_, _ = g.client.Close(), g.server.Close()
		cancel()
		done.Wait()
	})
	return g
}

// connect returns both sides of a connection: the peer's, and the relay's.
func connect(t testing.TB, secure bool) (far conn, near net.Conn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // a test's
	dialed, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(eventTimeout)
	_ = dialed.SetDeadline(deadline)
	if !secure {
		return dialed.(*net.TCPConn), accepted
	}
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	secured := tls.Server(accepted, &tls.Config{Certificates: pair.TLS.Certificates})
	shaken := make(chan error, 1)
	go func() { shaken <- secured.HandshakeContext(t.Context()) }()
	outer := tls.Client(dialed, &tls.Config{InsecureSkipVerify: true})
	if err := errors.Join(outer.HandshakeContext(t.Context()), <-shaken); err != nil {
		t.Fatal(err)
	}
	return outer, secured
}

// result waits for the end of the relay.
func (g *rig) result(t testing.TB) relay.Result {
	t.Helper()
	timer := time.NewTimer(eventTimeout)
	defer timer.Stop()
	select {
	case result := <-g.results:
		return result
	case <-timer.C:
		t.Fatal("the relay goes on")
		return relay.Result{}
	}
}

// ends checks how the relay has ended.
func (g *rig) ends(t testing.TB, first, final relay.Reason) relay.Result {
	t.Helper()
	result := g.result(t)
	if result.First != first || result.Final != final || (result.Err != nil) != (final == relay.Error) {
		t.Errorf("ended by %v, then %v (%v); want %v, %v", result.First, result.Final, result.Err, first, final)
	}
	return result
}

func write(t testing.TB, to io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		t.Fatal(err)
	}
}

// expect reads so many bytes as text has.
func expect(t testing.TB, from io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(from, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v; want %q", got[:n], err, text)
	}
}

// expectEnd reads to the orderly end.
func expectEnd(t testing.TB, from io.Reader, text string) {
	t.Helper()
	got, err := io.ReadAll(from)
	if err != nil || string(got) != text {
		t.Errorf("got %q, %v; want %q and the end", got, err, text)
	}
}

// expectReset reads until the connection is reset.
func expectReset(t testing.TB, from io.Reader) {
	t.Helper()
	n, err := io.Copy(io.Discard, from)
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after %d bytes: %v; want a reset", n, err)
	}
}

func closeWrite(t testing.TB, c conn) {
	t.Helper()
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// reset closes a connection by RST.
func reset(t testing.TB, c net.Conn) {
	t.Helper()
	if err := httpio.Reset(c); err != nil {
		t.Fatal(err)
	}
}
