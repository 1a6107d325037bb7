package entrypoint_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/static"
)

// generation is an entrypoint that has the socket of the one before, as the process of a successor has. It answers with
// its name.
type generation struct {
	*served

	name string
	// running gets a value when a request for /slow runs, which is answered when released is closed.
	running, released chan struct{}
	end               context.CancelCauseFunc
}

// newGeneration returns an entrypoint that does not serve yet. before may be nil, and adapt as well.
func newGeneration(t *testing.T, name string, before *generation, adapt func(*static.EntryPoint,
	*entrypoint.Dependencies),
) *generation {
	t.Helper()
	g := &generation{
		name: name, running: make(chan struct{}, 1), released: make(chan struct{}),
		served: &served{
			memory: newMemory(t), t: t, ended: make(chan error, 1),
			tls: &selector{byName: map[string]*certificate.Options{}, fallback: newTLS(t, nil, certificate.NewTickets())},
		},
	}
	config, deps := newConfig(), entrypoint.Dependencies{Logger: g.memory, Connections: g.memory}
	config.HTTP3 = nil
	if before != nil {
		config.Address = before.address
	}
	if adapt != nil {
		adapt(config, &deps)
	}
	e, err := entrypoint.New("web", config, g, g.tls, deps)
	if err != nil {
		t.Fatal(err)
	}
	if before == nil {
		err = e.Listen(t.Context())
	} else {
		err = e.ListenWith(before.entrypoint)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.entrypoint, g.address = e, e.Addr().String()
	return g
}

func (g *generation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/slow" {
		_ = http.NewResponseController(w).Flush()
		g.running <- struct{}{}
		select {
		case <-g.released:
		case <-r.Context().Done():
		}
	}
	_, _ = io.WriteString(w, g.name)
	if r.URL.Path == "/echo" {
		_, _ = io.WriteString(w, "\n")
		_ = http.NewResponseController(w).EnableFullDuplex()
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			_ = http.NewResponseController(w).Flush()
			_, _ = fmt.Fprintln(w, lines.Text())
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// serve serves until the test ends.
func (g *generation) serve() *generation {
	ctx, end := context.WithCancelCause(context.WithoutCancel(g.t.Context()))
	g.end, g.stop = end, func() { end(nil) }
	go func() { g.ended <- g.entrypoint.Serve(ctx) }()
	g.t.Cleanup(func() {
		end(nil)
		g.wait()
	})
	return g
}

// park parks the accept loop.
func (g *generation) park() {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), timeout)
	defer cancel()
	if err := g.entrypoint.Park(ctx); err != nil {
		g.t.Fatal(err)
	}
}

// handOver hands over to the next entrypoint, which serves then.
func (g *generation) handOver(next *generation, drain time.Duration) *generation {
	g.t.Helper()
	g.park()
	next.serve()
	g.end(entrypoint.HandedOver{Drain: drain})
	return next
}

// get sends a request and returns the answer.
func (g *generation) get(client *http.Client, url string) string {
	g.t.Helper()
	_, body := do(g.t, client, http.MethodGet, url, nil)
	return body
}

// TestHandOver hands the socket over while there are an idle connection, a request and a client in the queue.
func TestHandOver(t *testing.T) {
	for _, protocol := range tcpProtocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			first := newGeneration(t, "first", nil, nil).serve()
			second := newGeneration(t, "second", first, nil)
			client, url := first.client(protocol)
			other, _ := first.client(protocol)
			if got := first.get(client, url); got != "first" {
				t.Errorf("answered by %q", got)
			}
			slow := make(chan string, 1)
			go func() {
				_, text, err := try(t, other, http.MethodGet, url+"/slow", nil)
				slow <- fmt.Sprint(text, err)
			}()
			receive(t, first.running, "the request")
			first.park()
			queued, _ := second.client(protocol)
			waiting := make(chan string, 1)
			go func() {
				_, text, err := try(t, queued, http.MethodGet, url, nil)
				waiting <- fmt.Sprint(text, err)
			}()
			if got := first.get(client, url); got != "first" { // A parked entrypoint serves its connections on.
				t.Errorf("answered by %q", got)
			}
			second.serve()
			if got := receive(t, waiting, "the client in the queue"); got != "second<nil>" {
				t.Errorf("answered by %q", got)
			}
			first.end(entrypoint.ErrHandedOver)
			first.eventually("draining", first.entrypoint.Draining)
			// With HTTP/1.1 it is the last response of its connection, with HTTP/2 the connection may be gone already.
			if got := first.get(client, url); got != "first" && !strings.HasPrefix(protocol, "h2") {
				t.Errorf("answered by %q", got)
			}
			second.eventually("the other entrypoint", func() bool { return first.get(client, url) == "second" })
			close(first.released)
			if got := receive(t, slow, "the response"); got != "first<nil>" {
				t.Errorf("got %q", got)
			}
			other.CloseIdleConnections() // The head of the response came before the end of keep-alive.
			first.wait()
		})
	}
}

// TestNothingIsRefused sends requests, on new and on kept connections, during hand-overs. The client repeats none.
func TestNothingIsRefused(t *testing.T) {
	t.Parallel()
	const generations, clients = 20, 6
	current := newGeneration(t, "0", nil, nil).serve()
	address := current.address
	stop := make(chan struct{})
	var work sync.WaitGroup
	answered := make(chan map[string]int, clients)
	for i := range clients {
		work.Go(func() {
			by, err := map[string]int{}, error(nil)
			for running := true; running && err == nil; {
				// Of a kept connection, each response may be the last one.
				err = requests(t.Context(), address, i%2 == 0, by, stop)
				select {
				case <-stop:
					running = false
				default:
				}
			}
			if err != nil {
				t.Error(err)
			}
			answered <- by
		})
	}
	for i := range generations {
		current.eventually("requests", func() bool { return current.accepted() > clients })
		before := current
		current = before.handOver(newGeneration(t, fmt.Sprint(i+1), before, nil), timeout)
		before.wait()
	}
	current.eventually("requests", func() bool { return current.accepted() > clients })
	close(stop)
	work.Wait()
	seen := map[string]int{}
	for range clients {
		for name, n := range <-answered {
			seen[name] += n
		}
	}
	if len(seen) != generations+1 {
		t.Errorf("the answers are of %v", seen)
	}
}

// requests sends requests on one connection, until a response ends it, or stop is closed.
func requests(ctx context.Context, address string, keep bool, by map[string]int, stop <-chan struct{}) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	for reader := bufio.NewReader(conn); ; {
		if _, err := io.WriteString(conn, get); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return fmt.Errorf("response: %w", err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return fmt.Errorf("body: %w", err)
		}
		by[string(body)]++
		select {
		case <-stop:
			return nil
		default:
			if !keep || response.Close {
				return nil
			}
		}
	}
}

// TestUnpark accepts again after a hand-over that has failed, and ends as always.
func TestUnpark(t *testing.T) {
	t.Parallel()
	g := newGeneration(t, "only", nil, nil).serve()
	g.entrypoint.Unpark() // It was not parked.
	for range 3 {
		g.park()
		conn := g.dial()
		say(t, conn, get)
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("a parked entrypoint has accepted a connection and answers with %d bytes", n)
		}
		g.entrypoint.Unpark()
		_ = conn.SetReadDeadline(time.Now().Add(timeout))
		if _, body := answer(t, bufio.NewReader(conn)); body != "only" {
			t.Errorf("answered by %q", body)
		}
	}
	select {
	case line := <-g.lines:
		t.Errorf("it has logged %q", line)
	default:
	}
	g.park()
	g.stop()
	g.wait()
	g.entrypoint.Unpark()
	g.park() // There is no accept loop any more.
}

// TestParkFails names the entrypoint, and leaves the accept loop as it is.
func TestParkFails(t *testing.T) {
	t.Parallel()
	listening := func(wrap func(*net.TCPListener) net.Listener) func(*static.EntryPoint, *entrypoint.Dependencies) {
		return func(_ *static.EntryPoint, deps *entrypoint.Dependencies) {
			deps.Listen = func(ctx context.Context, network, address string) (net.Listener, error) {
				inner, err := new(net.ListenConfig).Listen(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return wrap(inner.(*net.TCPListener)), nil
			}
		}
	}
	fails := func(ctx context.Context, g *generation, want error) {
		t.Helper()
		err := g.entrypoint.Park(ctx)
		if !errors.Is(err, want) || !strings.HasPrefix(err.Error(), `entrypoint "web": `) {
			t.Errorf("error %v, want %v", err, want)
		}
		g.entrypoint.Unpark()
	}
	endless := newGeneration(t, "endless", nil, listening(func(inner *net.TCPListener) net.Listener {
		return &faulty{Listener: inner}
	})).serve()
	fails(t.Context(), endless, errors.ErrUnsupported)
	held := make(chan struct{})
	stuck := newGeneration(t, "stuck", nil, listening(func(inner *net.TCPListener) net.Listener {
		return slow{inner, held}
	})).serve()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	fails(ended, stuck, context.Canceled)
	close(held)
	parked := newGeneration(t, "parked", nil, nil).serve()
	parked.park()
	if err := parked.entrypoint.Park(t.Context()); err == nil || !strings.Contains(err.Error(), "stopped already") {
		t.Errorf("error %v", err)
	}
	parked.entrypoint.Unpark()
	for _, g := range []*generation{endless, stuck, parked} {
		client, url := g.client("h1")
		if got := g.get(client, url); got != g.name {
			t.Errorf("answered by %q", got)
		}
	}
}

// TestQueueIsTheSuccessors ends an entrypoint before its successor serves: a client that has connected meanwhile is not
// accepted by it, and not reset.
func TestQueueIsTheSuccessors(t *testing.T) {
	t.Parallel()
	for name, park := range map[string]bool{"parked": true, "accepting": false} {
		first := newGeneration(t, "first", nil, nil).serve()
		second := newGeneration(t, "second", first, nil)
		if park {
			first.park()
		}
		var conn net.Conn
		if park {
			conn = first.dial()
			say(t, conn, get)
		}
		first.end(entrypoint.HandedOver{})
		first.wait()
		if !park {
			conn = second.dial()
			say(t, conn, get)
		}
		second.serve()
		if _, body := answer(t, bufio.NewReader(conn)); body != "second" {
			t.Errorf("%s: answered by %q", name, body)
		}
	}
}

// TestHandedOverKeepsConnections proves that connections that are idle or silent stay, and what is their last response.
func TestHandedOverKeepsConnections(t *testing.T) {
	t.Parallel()
	first := newGeneration(t, "first", nil, nil).serve()
	idle, silent := first.dial(), first.dial()
	reader := bufio.NewReader(idle)
	say(t, idle, get)
	if response, body := answer(t, reader); body != "first" || response.Close {
		t.Errorf("got %q, close %v", body, response.Close)
	}
	first.eventually("both connections", func() bool { return first.connections() == 2 })
	first.handOver(newGeneration(t, "second", first, nil), timeout)
	first.eventually("draining", first.entrypoint.Draining)
	for _, conn := range []net.Conn{idle, silent} { // For longer than a connection may settle that drains otherwise.
		_ = conn.SetReadDeadline(time.Now().Add(1200 * time.Millisecond))
	}
	for _, conn := range []net.Conn{idle, silent} {
		if n, err := conn.Read(make([]byte, 1)); !isTimeout(err) {
			t.Errorf("a connection has ended: %d bytes, error %v", n, err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(timeout))
	}
	for _, conn := range []net.Conn{idle, silent} {
		say(t, conn, get)
		if response, body := answer(t, bufio.NewReader(conn)); body != "first" || !response.Close {
			t.Errorf("got %q, close %v", body, response.Close)
		}
	}
	first.wait()
}

// isTimeout reports whether a deadline has passed.
func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// TestHandedOverCuts ends what is left after the time of the hand-over, or after that of the configuration.
func TestHandedOverCuts(t *testing.T) {
	for _, test := range []struct {
		name  string
		cause error
		grace time.Duration
	}{
		{"its own time", entrypoint.HandedOver{Drain: 100 * time.Millisecond}, time.Hour},
		{"the end of the process", entrypoint.HandedOver{Drain: time.Hour, Stopping: closed()}, 100 * time.Millisecond},
		{"graceTimeOut", entrypoint.ErrHandedOver, 100 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			first := newGeneration(t, "first", nil, func(c *static.EntryPoint, _ *entrypoint.Dependencies) {
				c.Transport.LifeCycle.GraceTimeOut = static.Duration(test.grace)
				c.Transport.LifeCycle.RequestAcceptGraceTimeout = static.Duration(time.Hour)
			}).serve()
			silent := first.dial()
			say(t, first.dial(), "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
			receive(t, first.running, "the request")
			first.park()
			began := time.Now()
			first.end(test.cause)
			first.wait()
			if took := time.Since(began); took < 100*time.Millisecond {
				t.Errorf("cut after %v", took)
			}
			if n, err := silent.Read(make([]byte, 1)); err == nil {
				t.Errorf("a silent connection got %d bytes", n)
			}
		})
	}
}

// TestHandedOverStream has a connection of a TCP router go on until it ends.
func TestHandedOverStream(t *testing.T) {
	t.Parallel()
	streams := choice{tcp.NeedsUnread, func(tcp.Stage, *rule.Connection) tcp.Stream { return &lines{mark: "first"} }}
	first := newGeneration(t, "first", nil, func(_ *static.EntryPoint, deps *entrypoint.Dependencies) {
		deps.Streams = streams
	}).serve()
	conn := first.dial()
	exchange(t, conn, "a\n", "first a\n")
	second := first.handOver(newGeneration(t, "second", first, nil), timeout)
	first.eventually("draining", first.entrypoint.Draining)
	exchange(t, conn, "b\n", "first b\n")
	client, url := second.client("h1")
	if got := second.get(client, url); got != "second" {
		t.Errorf("answered by %q", got)
	}
	say(t, conn, "bye\n")
	first.wait()
}

// TestHandedOverHTTP3 ends connections of HTTP/3, whose datagrams reach the socket of the successor.
func TestHandedOverHTTP3(t *testing.T) {
	t.Parallel()
	g := newGeneration(t, "first", nil, func(c *static.EntryPoint, _ *entrypoint.Dependencies) {
		c.HTTP3 = new(static.HTTP3)
	}).serve()
	client, url := g.client("h3")
	if got := g.get(client, url); got != "first" {
		t.Errorf("answered by %q", got)
	}
	g.park()
	g.end(entrypoint.HandedOver{Drain: timeout})
	g.wait()
	free, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
}
