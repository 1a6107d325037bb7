package entrypoint_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/static"
)

// process is a generation with HTTP/3, whose sockets are duplicates of those of the one before.
type process struct {
	*generation

	http3 *h3.Process
}

// newProcess returns a process that does not serve yet. before may be nil, and adapt as well.
func newProcess(t *testing.T, name string, before *process, adapt func(*static.EntryPoint)) *process {
	t.Helper()
	p := &process{http3: h3.NewProcess()}
	given := &inherited{}
	if before != nil {
		state, err := before.http3.Export()
		if err != nil {
			t.Fatal(err)
		}
		if p.http3, err = h3.NewSuccessor(state); err != nil {
			t.Fatal(err)
		}
		for network, socket := range before.entrypoint.Sockets {
			file := duplicate(t, socket)
			if network == "tcp" {
				given.listener, err = net.FileListener(file)
			} else {
				var packets net.PacketConn
				packets, err = net.FilePacketConn(file)
				given.packets = append(given.packets, packets)
			}
			if err = errors.Join(err, file.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.generation = newGeneration(t, name, nil, func(config *static.EntryPoint, deps *entrypoint.Dependencies) {
		config.HTTP3 = new(static.HTTP3)
		deps.HTTP3, deps.Inherited = p.http3, given
		deps.QUIC, _ = deps.Connections.(*memory)
		if adapt != nil {
			adapt(config)
		}
	})
	p.generation.entrypoint.Unpark() // It was not parked.
	return p
}

// duplicate returns another descriptor of a socket.
func duplicate(t *testing.T, socket syscall.Conn) *os.File {
	t.Helper()
	raw, err := socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	fd, failed := -1, error(nil)
	err = raw.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "socket")
}

// begin parks p, and has the next process serve. The hand-over can fail yet.
func (p *process) begin(next *process) {
	p.t.Helper()
	p.park()
	feeds := map[int]net.Conn{}
	for generation, feed := range p.entrypoint.Feeds {
		file := duplicate(p.t, feed)
		conn, err := net.FileConn(file)
		if err = errors.Join(err, file.Close()); err != nil {
			p.t.Fatal(err)
		}
		feeds[int(generation)] = conn
	}
	next.entrypoint.Adopt(feeds, p.entrypoint.Opening())
	next.serve()
}

// handOver hands over to the next process, which serves then.
func (p *process) handOver(next *process) *process {
	p.t.Helper()
	p.begin(next)
	p.end(entrypoint.HandedOver{Drain: timeout})
	p.eventually("draining", p.entrypoint.Draining)
	return next
}

// quicClient is a client of HTTP/3 that keeps its connections.
type quicClient struct {
	*http.Client

	t     *testing.T
	url   string
	mutex sync.Mutex
	conns []*quic.Conn
}

// newQUICClient returns a client of an address.
func newQUICClient(t *testing.T, address string) *quicClient {
	t.Helper()
	c := &quicClient{t: t, url: "https://" + address}
	transport := &http3.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // The certificate is generated.
		Dial: func(ctx context.Context, _ string, config *tls.Config, settings *quic.Config) (*quic.Conn, error) {
			conn, err := quic.DialAddrEarly(ctx, address, config, settings)
			if err == nil {
				c.mutex.Lock()
				c.conns = append(c.conns, conn)
				c.mutex.Unlock()
			}
			return conn, err
		},
	}
	c.Client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		_ = transport.Close()
		c.close()
	})
	return c
}

// close closes all connections, also those that were replaced.
func (c *quicClient) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, conn := range c.conns {
		_ = conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	}
}

// get sends a request and returns the answer.
func (c *quicClient) get() string {
	c.t.Helper()
	_, text := do(c.t, c.Client, http.MethodGet, c.url, nil)
	return text
}

// exchanger is a request whose lines are sent back by the process that handles it.
type exchanger struct {
	t     *testing.T
	lines *io.PipeWriter
	back  *bufio.Reader
	end   func()
}

// exchange begins a request, and returns the name of the process that handles it.
func (c *quicClient) exchange() (*exchanger, string) {
	c.t.Helper()
	body, lines := io.Pipe()
	ctx, cancel := context.WithTimeout(c.t.Context(), timeout)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/echo", body)
	if err != nil {
		c.t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(lines, "first\n") }()
	response, err := c.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	e := &exchanger{t: c.t, lines: lines, back: bufio.NewReader(response.Body), end: func() {
		_ = lines.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		cancel()
	}}
	c.t.Cleanup(e.end)
	name, _ := e.back.ReadString('\n')
	if line, err := e.back.ReadString('\n'); line != "first\n" {
		c.t.Fatalf("got %q, error %v", line, err)
	}
	return e, strings.TrimSuffix(name, "\n")
}

// say sends a line, and expects it back.
func (e *exchanger) say(line string) {
	e.t.Helper()
	if err := e.try(line); err != nil {
		e.t.Fatalf("%s: %v", line, err)
	}
}

func (e *exchanger) try(line string) error {
	if _, err := io.WriteString(e.lines, line+"\n"); err != nil {
		return err
	}
	got, err := e.back.ReadString('\n')
	if err == nil && got != line+"\n" {
		err = fmt.Errorf("got %q", got)
	}
	return err
}

// TestHTTP3HandOver has connections go on in the process in which they are, over three processes, while new ones come
// to the last one.
func TestHTTP3HandOver(t *testing.T) {
	t.Parallel()
	current := newProcess(t, "0", nil, nil)
	address := current.serve().address
	var processes []*process
	var kept []*quicClient
	var exchanges []*exchanger
	for i := range 4 {
		client := newQUICClient(t, address)
		e, name := client.exchange()
		if name != current.name {
			t.Errorf("a new client has come to %s, not to %s", name, current.name)
		}
		kept, exchanges, processes = append(kept, client), append(exchanges, e), append(processes, current)
		next := newProcess(t, fmt.Sprint(i+1), current, nil)
		current.begin(next)
		for n, e := range exchanges {
			e.say(fmt.Sprintf("during hand-over %d, client %d", i, n))
		}
		if got := client.get(); got != current.name { // There has been no GOAWAY.
			t.Errorf("a request on a kept connection was answered by %s, not by %s", got, current.name)
		}
		if got := newQUICClient(t, address).get(); got != next.name {
			t.Errorf("a new client was answered by %s, not by %s", got, next.name)
		}
		current.end(entrypoint.HandedOver{Drain: timeout})
		current.eventually("GOAWAY", func() bool { return client.get() == next.name })
		for n, e := range exchanges {
			e.say(fmt.Sprintf("after hand-over %d, client %d", i, n))
		}
		current = next
	}
	for i, client := range kept {
		exchanges[i].end()
		client.close()
		processes[i].wait()
	}
}

// TestHTTP3HandOverOpening completes a handshake in the process in which it has begun.
func TestHTTP3HandOverOpening(t *testing.T) {
	t.Parallel()
	first := newProcess(t, "first", nil, nil)
	first.serve()
	var mute atomic.Bool
	mute.Store(true)
	proxy := newQUICProxy(t, first.address, func(_ []byte, toServer bool) bool { return toServer || !mute.Load() })
	client := newQUICClient(t, proxy.front.LocalAddr().String())
	answered := make(chan string, 1)
	go func() {
		_, text, err := try(t, client.Client, http.MethodGet, client.url, nil)
		answered <- fmt.Sprint(text, err)
	}()
	first.eventually("the handshake", func() bool { return first.accepted() == 1 })
	second := first.handOver(newProcess(t, "second", first, nil))
	mute.Store(false)
	if got := receive(t, answered, "the answer"); got != "first<nil>" {
		t.Errorf("got %q", got)
	}
	first.eventually("GOAWAY", func() bool { return client.get() == "second" })
	client.close()
	first.wait()
	if second.accepted() > 1 {
		t.Errorf("%d connections have reached the other process", second.accepted())
	}
}

// TestHTTP3HandOverRetry accepts a token of a Retry packet that the process before has sent.
func TestHTTP3HandOverRetry(t *testing.T) {
	t.Parallel()
	limited := func(config *static.EntryPoint) { config.Transport.Limits.MaxConnectionRate = 1000 }
	first := newProcess(t, "first", nil, limited)
	first.serve()
	retried, once := make(chan struct{}), new(sync.Once)
	var mute atomic.Bool
	proxy := newQUICProxy(t, first.address, func(datagram []byte, toServer bool) bool {
		if !toServer && isRetry(datagram) {
			once.Do(func() {
				mute.Store(true)
				close(retried)
			})
		}
		return !toServer || !mute.Load()
	})
	client := newQUICClient(t, proxy.front.LocalAddr().String())
	answered := make(chan string, 1)
	go func() {
		_, text, err := try(t, client.Client, http.MethodGet, client.url, nil)
		answered <- fmt.Sprint(text, err)
	}()
	receive(t, retried, "a Retry packet")
	first.handOver(newProcess(t, "second", first, limited))
	mute.Store(false)
	if got := receive(t, answered, "the answer"); got != "second<nil>" {
		t.Errorf("got %q", got)
	}
	first.wait()
}

// TestHTTP3HandOverFails reads the socket again, and hands it over with the next attempt.
func TestHTTP3HandOverFails(t *testing.T) {
	t.Parallel()
	first := newProcess(t, "first", nil, nil)
	first.serve()
	client := newQUICClient(t, first.address)
	e, _ := client.exchange()
	for i := range 2 {
		second := newProcess(t, "second", first, nil)
		first.begin(second)
		e.say("parked")
		other := newQUICClient(t, first.address)
		if got := other.get(); got != "second" {
			t.Errorf("answered by %q", got)
		}
		other.close()
		second.stop()
		second.wait()
		first.entrypoint.Unpark()
		e.say("unparked")
		if got := newQUICClient(t, first.address).get(); got != "first" {
			t.Errorf("attempt %d: answered by %q", i, got)
		}
	}
	third := first.handOver(newProcess(t, "third", first, nil))
	e.say("handed over")
	if got := newQUICClient(t, third.address).get(); got != "third" {
		t.Errorf("answered by %q", got)
	}
}

// TestHTTP3HandOverMigration has a client move to another address after a hand-over.
func TestHTTP3HandOverMigration(t *testing.T) {
	t.Parallel()
	first := newProcess(t, "first", nil, nil)
	first.serve()
	proxy := newQUICProxy(t, first.address, nil)
	client := newQUICClient(t, proxy.front.LocalAddr().String())
	e, _ := client.exchange()
	second := first.handOver(newProcess(t, "second", first, nil))
	for range 3 {
		proxy.rebind(t)
		e.say("from another port")
	}
	if second.accepted() > 0 {
		t.Error("a connection has reached the other process")
	}
	e.end()
	client.close()
	first.wait()
}

// TestHTTP3HandOverEnds ends the process before without its clients learning of it: the next one resets their
// connections.
func TestHTTP3HandOverEnds(t *testing.T) {
	t.Parallel()
	first := newProcess(t, "first", nil, nil)
	first.serve()
	var mute atomic.Bool
	proxy := newQUICProxy(t, first.address, func(_ []byte, toServer bool) bool { return toServer || !mute.Load() })
	client := newQUICClient(t, proxy.front.LocalAddr().String())
	e, _ := client.exchange()
	first.begin(newProcess(t, "second", first, nil))
	mute.Store(true)
	first.end(entrypoint.HandedOver{Drain: time.Millisecond})
	first.wait()
	proxy.rebind(t) // What the process has sent is lost, also what has not reached the proxy yet.
	mute.Store(false)
	var err error
	for err == nil {
		err = e.try("lost")
	}
	<-client.conns[0].Context().Done()
	var reset *quic.StatelessResetError
	if err = context.Cause(client.conns[0].Context()); !errors.As(err, &reset) {
		t.Errorf("the connection has ended by %v", err)
	}
	if got := client.get(); got != "second" {
		t.Errorf("answered by %q", got)
	}
}

// TestHTTP3HandOverIsLost ends HTTP/3 where the process is gone that reads the socket, whose address is free then.
func TestHTTP3HandOverIsLost(t *testing.T) {
	t.Parallel()
	first := newProcess(t, "first", nil, nil)
	first.serve()
	client := newQUICClient(t, first.address)
	_, _ = client.exchange()
	second := first.handOver(newProcess(t, "second", first, nil))
	second.stop()
	second.wait()
	<-client.conns[0].Context().Done()
	first.wait()
	udp, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", first.address)
	if err != nil {
		t.Fatal(err)
	}
	_ = udp.Close()
}

// TestHTTP3HandOverLast closes the socket with the last connection of HTTP/3, also where others are open.
func TestHTTP3HandOverLast(t *testing.T) {
	t.Parallel()
	for name, connections := range map[string]int{"one": 1, "none": 0} {
		first := newProcess(t, "first", nil, nil)
		first.serve()
		client := newQUICClient(t, first.address)
		for range connections {
			client.get()
		}
		other := first.dial()
		first.eventually("the other connection", func() bool { return first.connections() == 1+connections })
		first.handOver(newProcess(t, "second", first, nil))
		client.close()
		first.eventually(name, func() bool {
			for network, socket := range first.entrypoint.Sockets {
				if raw, err := socket.SyscallConn(); network == "udp" && err == nil && raw.Control(func(uintptr) {}) == nil {
					return false
				}
			}
			return true
		})
		_ = other.Close()
		first.wait()
	}
}

// TestHTTP3HandOverUnparked ends HTTP/3 where the socket was not left to the other process before.
func TestHTTP3HandOverUnparked(t *testing.T) {
	t.Parallel()
	first := newProcess(t, "first", nil, nil)
	first.serve()
	client := newQUICClient(t, first.address)
	_, _ = client.exchange()
	first.end(entrypoint.HandedOver{Drain: timeout})
	<-client.conns[0].Context().Done()
	first.wait()
}
