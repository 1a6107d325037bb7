package entrypoint_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*static.EntryPoint){
		"address: no port":               func(c *static.EntryPoint) { c.Address = "localhost" },
		"no address of tcp":              func(c *static.EntryPoint) { c.Address = ":53/udp" },
		"http.underscoreHeadersStrategy": func(c *static.EntryPoint) { c.HTTP.UnderscoreHeadersStrategy = "z" },
	} {
		config := newConfig()
		change(config)
		_, err := entrypoint.New("web", config, http.HandlerFunc(hello), nil, entrypoint.Dependencies{Logger: newMemory(t)})
		if err == nil || !strings.HasPrefix(err.Error(), `entrypoint "web": `) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestListenErrors(t *testing.T) {
	s := start(t, http.HandlerFunc(hello), nil)
	for address, want := range map[string]string{
		s.address:      "address already in use",
		"192.0.2.1:80": "cannot assign requested address",
	} {
		config := newConfig()
		config.Address = address
		e, err := entrypoint.New("other", config, http.HandlerFunc(hello), nil, entrypoint.Dependencies{Logger: newMemory(t)})
		if err != nil {
			t.Fatal(err)
		}
		err = e.Listen(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), `entrypoint "other": listen tcp `+address) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if err := e.Serve(t.Context()); err == nil {
			t.Error("it serves without a listener")
		}
	}
}

// TestPrivilegedPorts expects the capability in the error of a port that the process may not bind.
func TestPrivilegedPorts(t *testing.T) {
	denied := func(context.Context, string, string) (net.Listener, error) {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EACCES}
	}
	e, err := entrypoint.New("web", newConfig(), http.HandlerFunc(hello), nil,
		entrypoint.Dependencies{Logger: newMemory(t), Listen: denied})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "CAP_NET_BIND_SERVICE") {
		t.Errorf("error %v, want one with the capability", err)
	}
}

func TestReusePort(t *testing.T) {
	share := func(c *static.EntryPoint) { c.ReusePort = true }
	s := start(t, http.HandlerFunc(hello), share)
	other := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		share(c)
		c.Address = s.address
	})
	if s.address != other.address {
		t.Errorf("%s and %s", s.address, other.address)
	}
}

// noFile is a listener whose method File, whose descriptor turns the socket blocking, is not to be used.
type noFile struct {
	*net.TCPListener
	used atomic.Bool
}

func (n *noFile) File() (*os.File, error) {
	n.used.Store(true)
	return n.TCPListener.File()
}

// TestListenWithLeavesTheSocketAlone proves that the accept loop of an entrypoint is not disturbed by another one that
// takes its socket, and that it can be ended though no client comes.
func TestListenWithLeavesTheSocketAlone(t *testing.T) {
	t.Parallel()
	var listener *noFile
	s := startWith(t, http.HandlerFunc(hello), nil, func(ctx context.Context, network, address string) (net.Listener,
		error,
	) {
		inner, err := new(net.ListenConfig).Listen(ctx, network, address)
		if err != nil {
			return nil, err
		}
		listener = &noFile{TCPListener: inner.(*net.TCPListener)}
		return listener, nil
	})
	config := newConfig()
	config.Address = s.address
	next, err := entrypoint.New("next", config, http.HandlerFunc(hello), nil,
		entrypoint.Dependencies{Logger: newMemory(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.ListenWith(s.entrypoint); err != nil {
		t.Fatal(err)
	}
	if listener.used.Load() || next.Addr().String() != s.address {
		t.Errorf("File is used: %v; the address is %s, want %s", listener.used.Load(), next.Addr(), s.address)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	client, url := s.client("h1")
	do(t, client, http.MethodGet, url, nil)
	if err := next.ListenWith(next); !errors.Is(err, net.ErrClosed) {
		t.Errorf("with a closed socket: %v", err)
	}
}

// faulty is a listener that fails for a while.
type faulty struct {
	net.Listener
	failures atomic.Int64
}

func (f *faulty) Accept() (net.Conn, error) {
	if f.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

func TestAcceptErrors(t *testing.T) {
	t.Parallel()
	var listener *faulty
	s := startWith(t, http.HandlerFunc(hello), nil, func(ctx context.Context, network, address string) (net.Listener,
		error,
	) {
		inner, err := new(net.ListenConfig).Listen(ctx, network, address)
		listener = &faulty{Listener: inner}
		listener.failures.Store(4)
		return listener, err
	})
	client, url := s.client("h1")
	do(t, client, http.MethodGet, url, nil)
	if line := s.logged("accepting a connection failed"); !strings.HasPrefix(line, "warn") ||
		!strings.Contains(line, "too many open files") {
		t.Errorf("logged %q", line)
	}
}

func TestListenerClosedByOthers(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), nil)
	_ = s.entrypoint.Close()
	err := receive(t, s.ended, "the end of Serve")
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
	s.ended <- nil
}

// TestDrainFinishesRequests stops while requests run: they finish, and no connection is accepted.
func TestDrainFinishesRequests(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			running, release := make(chan struct{}), make(chan struct{})
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_ = http.NewResponseController(w).Flush()
				close(running)
				<-release
				_, _ = io.WriteString(w, "whole")
			}), nil)
			client, url := s.client(protocol)
			body := make(chan string, 1)
			go func() {
				_, text, err := try(t, client, http.MethodGet, url, nil)
				body <- fmt.Sprint(text, err)
			}()
			receive(t, running, "the request")
			if s.entrypoint.Draining() {
				t.Error("draining too early")
			}
			s.stop()
			s.eventually("the end of listening", func() bool {
				conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.address)
				if err == nil {
					_ = conn.Close()
				}
				return err != nil
			})
			if !s.entrypoint.Draining() {
				t.Error("not draining")
			}
			close(release)
			if got := receive(t, body, "the response"); got != "whole<nil>" {
				t.Errorf("got %q", got)
			}
			s.wait()
		})
	}
}

// TestDrainAcceptsForAWhile lets a new connection through during requestAcceptGraceTimeout.
func TestDrainAcceptsForAWhile(t *testing.T) {
	const grace = 500 * time.Millisecond
	visit(t, func(c *static.EntryPoint) {
		c.Transport.LifeCycle.RequestAcceptGraceTimeout = static.Duration(grace)
	}, func(t *testing.T, v *visited) {
		begun := time.Now()
		v.stop()
		synctest.Wait()
		if !v.entrypoint.Draining() {
			t.Error("not draining")
		}
		pass(grace - time.Millisecond)
		if !v.accepts("192.0.2.1", "") {
			t.Error("it does not accept during the grace time")
		}
		<-v.listener.done
		if took := time.Since(begun); took != grace {
			t.Errorf("it accepts for %v", took)
		}
		v.wait()
	})
}

// TestDrainCuts stops while a request and a hijacked connection never end.
func TestDrainCuts(t *testing.T) {
	t.Parallel()
	running := make(chan struct{}, 2)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hijack" {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			running <- struct{}{}
			_, _ = conn.Read(make([]byte, 1))
			return
		}
		running <- struct{}{}
		<-r.Context().Done()
	}), func(c *static.EntryPoint) {
		c.Transport.LifeCycle.GraceTimeOut = static.Duration(100 * time.Millisecond)
	})
	silent := s.dial()
	say(t, s.dial(), get)
	say(t, s.dial(), "GET /hijack HTTP/1.1\r\nHost: a\r\n\r\n")
	receive(t, running, "one request")
	receive(t, running, "the other request")
	began := time.Now()
	s.stop()
	if n, err := silent.Read(make([]byte, 1)); err == nil {
		t.Errorf("a silent connection got %d bytes", n)
	}
	s.wait()
	if took := time.Since(began); took < 100*time.Millisecond || took > timeout/2 {
		t.Errorf("cut after %v", took)
	}
}

// TestDrainWaitsForUpgrades lets a hijacked connection finish.
func TestDrainWaitsForUpgrades(t *testing.T) {
	t.Parallel()
	upgraded := make(chan struct{})
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffers, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		close(upgraded)
		// It outlives the handler, as with libraries that hand the connection to a goroutine.
		go func() {
			line, _ := buffers.ReadString('\n')
			_, _ = io.WriteString(conn, line)
			_ = conn.Close()
		}()
	}), nil)
	conn := s.dial()
	say(t, conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	receive(t, upgraded, "the upgrade")
	s.stop()
	s.eventually("draining", s.entrypoint.Draining)
	say(t, conn, "ping\n")
	got, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(got), "\r\n\r\nping\n") {
		t.Errorf("got %q, error %v", got, err)
	}
	s.wait()
	if record := s.record(); record.Status != http.StatusSwitchingProtocols {
		t.Errorf("record %+v", record)
	}
}

// TestDrainServesWhatHasBegun stops between the first byte and the end of a request's head.
func TestDrainServesWhatHasBegun(t *testing.T) {
	visit(t, nil, func(t *testing.T, v *visited) {
		conn := v.connect("192.0.2.1")
		say(t, conn, "GET / HT")
		synctest.Wait()
		if n := v.entrypoint.Begun(); n != 1 {
			t.Errorf("%d requests have begun", n)
		}
		v.stop()
		synctest.Wait()
		if !v.entrypoint.Draining() {
			t.Error("not draining")
		}
		say(t, conn, "TP/1.1\r\nHost: a\r\n\r\n")
		response, body := answer(t, bufio.NewReader(conn))
		if body != "hello" || !response.Close {
			t.Errorf("got %q, close %v", body, response.Close)
		}
		v.wait()
	})
}

// TestDrainServesNewConnections stops when a client has connected and is about to send its request.
func TestDrainServesNewConnections(t *testing.T) {
	visit(t, nil, func(t *testing.T, v *visited) {
		conn := v.connect("192.0.2.1")
		synctest.Wait()
		if n := v.connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
		v.stop()
		<-v.listener.done
		synctest.Wait()
		say(t, conn, get)
		if response, body := answer(t, bufio.NewReader(conn)); body != "hello" || !response.Close {
			t.Errorf("got %q, close %v", body, response.Close)
		}
		v.wait()
	})
}

// slow is a listener whose connections are not accepted for a while.
type slow struct {
	*net.TCPListener
	held chan struct{}
}

func (s slow) Accept() (net.Conn, error) {
	<-s.held
	return s.TCPListener.Accept()
}

// overdue is a slow listener whose first deadlines have passed when Accept is called, as on a busy machine.
type overdue struct {
	slow
	deadlines atomic.Int32
}

func (o *overdue) SetDeadline(t time.Time) error {
	if o.deadlines.Add(1) <= 2 {
		<-time.NewTimer(time.Until(t)).C
	}
	return o.TCPListener.SetDeadline(t)
}

// TestDrainServesTheQueue stops when a client has sent its request on a connection that has not been accepted.
func TestDrainServesTheQueue(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(slow) net.Listener{
		"in time": func(inner slow) net.Listener { return inner },
		"overdue": func(inner slow) net.Listener { return &overdue{slow: inner} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := make(chan struct{})
			s := startWith(t, http.HandlerFunc(hello), nil, func(ctx context.Context, network, address string) (net.Listener,
				error,
			) {
				inner, err := new(net.ListenConfig).Listen(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return wrap(slow{inner.(*net.TCPListener), held}), nil
			})
			conn := s.dial()
			say(t, conn, get)
			s.stop()
			s.eventually("draining", s.entrypoint.Draining)
			close(held)
			if _, body := answer(t, bufio.NewReader(conn)); body != "hello" {
				t.Errorf("got %q", body)
			}
			s.wait()
		})
	}
}

// TestBothEndsOfAStream writes and reads in turn on HTTP/1.1 and HTTP/2.
func TestBothEndsOfAStream(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				controller := http.NewResponseController(w)
				_ = controller.Flush()
				lines := bufio.NewScanner(r.Body)
				for lines.Scan() {
					_, _ = io.WriteString(w, "echo "+lines.Text()+"\n")
					_ = controller.Flush()
				}
			}), nil)
			client, url := s.client(protocol)
			reader, writer := io.Pipe()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, reader)
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.WriteString(writer, "0\n") }()
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			back := bufio.NewReader(response.Body)
			for i := range 5 {
				line, err := back.ReadString('\n')
				if want := fmt.Sprintf("echo %d\n", i); line != want || err != nil {
					t.Fatalf("got %q, error %v", line, err)
				}
				_, _ = fmt.Fprintf(writer, "%d\n", i+1)
			}
			_ = writer.Close()
			if _, err := io.Copy(io.Discard, back); err != nil {
				t.Error(err)
			}
		})
	}
}
