package entrypoint_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// refusals counts refused connections by reason.
type refusals struct {
	mutex    sync.Mutex
	byReason map[string]int
}

func (r *refusals) Refused(reason string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.byReason == nil {
		r.byReason = map[string]int{}
	}
	r.byReason[reason]++
}

// counted returns the counters as they are now.
func (r *refusals) counted() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return maps.Clone(r.byReason)
}

// warnings is a Logger that keeps warnings with all of their fields.
type warnings struct {
	telemetry.Discard
	lines chan string
}

func (w warnings) Warn(message string, keysAndValues ...any) {
	w.lines <- strings.TrimSpace(message + " " + fmt.Sprintln(keysAndValues...))
}

// all returns the lines so far.
func (w warnings) all() (lines []string) {
	for len(w.lines) > 0 {
		lines = append(lines, <-w.lines)
	}
	return lines
}

// peer is a connection in memory that has an address.
type peer struct {
	net.Conn
	address net.Addr
}

func (p peer) RemoteAddr() net.Addr { return p.address }

// visited is an entrypoint in a bubble of synctest, whose clients have the addresses that a test gives them.
type visited struct {
	*served
	refusals
	warnings
	listener *pipes
	// over gets what the handler has sent.
	over chan error
}

// visit serves hello in a bubble, and has a function play its clients.
func visit(t *testing.T, change func(*static.EntryPoint), play func(*testing.T, *visited)) {
	t.Helper()
	visitHandler(t, func(w http.ResponseWriter, r *http.Request, _ chan<- error) { hello(w, r) }, change, play)
}

// visitHandler is visit with a handler of the test's own.
func visitHandler(t *testing.T, handle handler, change func(*static.EntryPoint), play func(*testing.T, *visited)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := &visited{
			over:     make(chan error, 1),
			warnings: warnings{lines: make(chan string, 4096)},
			listener: &pipes{conns: make(chan net.Conn), done: make(chan struct{})},
		}
		served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, v.over) })
		v.served = startDeps(t, served, change, func(deps *entrypoint.Dependencies) {
			deps.Logger, deps.Refusals = v.warnings, &v.refusals
			deps.Listen = func(context.Context, string, string) (net.Listener, error) { return v.listener, nil }
		})
		play(t, v)
	})
}

// connect opens a connection from an address, or from one that is none.
func (v *visited) connect(client string) net.Conn {
	ours, theirs := net.Pipe()
	conn := net.Conn(theirs)
	if addr, err := netip.ParseAddr(client); err == nil {
		conn = peer{theirs, net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, 4711))}
	}
	v.listener.conns <- conn
	v.t.Cleanup(func() { _ = ours.Close() })
	_ = ours.SetDeadline(time.Now().Add(timeout))
	return ours
}

// client is that of served, with connections in memory.
func (v *visited) client(protocol string) (*http.Client, string) {
	v.t.Helper()
	client, url := v.served.client(protocol)
	transport, ok := client.Transport.(*http.Transport)
	if !ok {
		v.t.Fatal("no transport")
	}
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return v.connect("192.0.2.1"), nil }
	scheme, _, _ := strings.Cut(url, "://")
	return client, scheme + "://a.test"
}

// request sends text on a connection, and returns the status of the answer, or 0 if the connection ends without.
func request(conn net.Conn, text string) (*http.Response, int) {
	if _, err := io.WriteString(conn, text); err != nil {
		return nil, 0
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response, response.StatusCode
}

// accepts reports whether a new connection of a client is served.
func (v *visited) accepts(client, header string) bool {
	conn := v.connect(client)
	_, status := request(conn, header+get)
	_ = conn.Close()
	synctest.Wait()
	return status == http.StatusOK
}

// pass lets time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// TestConnectionRate gives away as many tokens as there are, and one more when it has come.
func TestConnectionRate(t *testing.T) {
	visit(t, func(c *static.EntryPoint) {
		c.Transport.Limits.MaxConnectionRate, c.Transport.Limits.ConnectionBurst = 2, 3
	}, func(t *testing.T, v *visited) {
		for i, step := range []struct {
			after    time.Duration
			accepted []bool
		}{
			{0, []bool{true, true, true, false, false}},
			{499 * time.Millisecond, []bool{false}},
			{time.Millisecond, []bool{true, false}},
			{time.Hour, []bool{true, true, true, false}},
		} {
			pass(step.after)
			for n, want := range step.accepted {
				if got := v.accepts(fmt.Sprintf("192.0.2.%d", n+1), ""); got != want {
					t.Errorf("step %d, connection %d: accepted is %v", i, n, got)
				}
			}
		}
		if diff := cmp.Diff(map[string]int{"connection_rate": 5}, v.counted()); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
	})
}

// TestConnectionRateByDefault has a burst of what comes in a second.
func TestConnectionRateByDefault(t *testing.T) {
	visit(t, func(c *static.EntryPoint) { c.Transport.Limits.MaxConnectionRate = 4 }, func(t *testing.T, v *visited) {
		for n := range 5 {
			if got, want := v.accepts("192.0.2.1", ""), n < 4; got != want {
				t.Errorf("connection %d: accepted is %v", n, got)
			}
		}
	})
}

// TestConnectionRatePerClient limits a client by its address, or the network that it has, and none without an address.
// What a client has in excess is not taken from the others.
func TestConnectionRatePerClient(t *testing.T) {
	steps := []struct {
		client   string
		accepted bool
	}{
		{"203.0.113.1", true},
		{"203.0.113.1", false},
		{"203.0.113.1", false},
		{"203.0.113.2", true},
		{"2001:db8:0:1::1", true},
		{"2001:db8:0:1::2", false},
		{"2001:db8:0:2::1", true},
	}
	limit := func(c *static.EntryPoint) {
		c.Transport.Limits.MaxConnectionRatePerClient, c.Transport.Limits.MaxConnectionRate = 1, 4
	}
	want := map[string]int{"connection_rate_per_client": 3}
	t.Run("address", func(t *testing.T) {
		visit(t, limit, func(t *testing.T, v *visited) {
			for _, step := range steps {
				if got := v.accepts(step.client, ""); got != step.accepted {
					t.Errorf("%s: accepted is %v", step.client, got)
				}
			}
			if diff := cmp.Diff(want, v.counted()); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			pass(time.Second)
			for range 3 {
				if !v.accepts("no address", "") {
					t.Error("a client without an address is refused")
				}
			}
		})
	})
	t.Run("PROXY header", func(t *testing.T) {
		visit(t, func(c *static.EntryPoint) {
			limit(c)
			c.ProxyProtocol = &static.ProxyProtocol{TrustedIPs: ranges(t, "192.0.2.1")}
		}, func(t *testing.T, v *visited) {
			for _, step := range steps {
				destination := "198.51.100.1:80"
				if strings.Contains(step.client, ":") {
					destination = "[2001:db8::1]:80"
				}
				source := netip.AddrPortFrom(netip.MustParseAddr(step.client), 4711).String()
				if got := v.accepts("192.0.2.1", proxyHeader(t, 1, source, destination)); got != step.accepted {
					t.Errorf("%s: accepted is %v", step.client, got)
				}
			}
			if diff := cmp.Diff(want, v.counted()); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			pass(time.Second)
			if !v.accepts("192.0.2.2", "") || v.accepts("192.0.2.2", "") {
				t.Error("a peer that is not trusted is not limited by its own address")
			}
		})
	})
}

// limitsQUIC expects connections of HTTP/3 to be refused, and to be accepted again with the next token.
func (s *served) limitsQUIC() {
	s.t.Helper()
	accepted := func() bool {
		_, _, err := try(s.t, s.http3(nil), http.MethodGet, "https://"+s.address, nil)
		return err == nil
	}
	s.eventually("a refusal over QUIC", func() bool { return !accepted() })
	s.eventually("a token for QUIC", accepted)
}

// TestFloodsOfConnections opens connections over the network until one is refused, and goes on being served.
func TestFloodsOfConnections(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*static.EntryPoint){
		"connection_rate":            func(c *static.EntryPoint) { c.Transport.Limits.MaxConnectionRate = 1 },
		"connection_rate_per_client": func(c *static.EntryPoint) { c.Transport.Limits.MaxConnectionRatePerClient = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counter := &refusals{}
			s := startDeps(t, http.HandlerFunc(hello), change, func(deps *entrypoint.Dependencies) { deps.Refusals = counter })
			held := s.dial()
			if _, status := request(held, get); status != http.StatusOK {
				t.Fatalf("the first connection: status %d", status)
			}
			attempt := func() int {
				conn := s.dial()
				defer func() { _ = conn.Close() }()
				_, status := request(conn, get)
				return status
			}
			s.eventually("a refusal over TCP", func() bool { return attempt() == 0 })
			if _, status := request(held, get); status != http.StatusOK {
				t.Errorf("an open connection: status %d", status)
			}
			s.eventually("a token", func() bool { return attempt() == http.StatusOK })
			s.limitsQUIC()
			if counted := counter.counted(); len(counted) != 1 || counted[name] < 2 {
				t.Errorf("refused %v", counted)
			}
		})
	}
}

// TestRequestRate answers 429 in every protocol once the tokens are used up.
func TestRequestRate(t *testing.T) {
	t.Parallel()
	for option, change := range map[string]func(*static.Limits){
		"maxRequestRate":          func(l *static.Limits) { l.MaxRequestRate = 1 },
		"maxRequestRatePerClient": func(l *static.Limits) { l.MaxRequestRatePerClient = 1 },
	} {
		for _, protocol := range protocols() {
			t.Run(option+" "+protocol, func(t *testing.T) {
				t.Parallel()
				s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
					change(&c.Transport.Limits)
					c.Transport.Limits.RequestBurst = 2
				})
				client, url := s.client(protocol)
				for n := range 2 {
					if response, _ := do(t, client, http.MethodGet, url, nil); response.StatusCode != http.StatusOK {
						t.Errorf("request %d: status %d", n, response.StatusCode)
					}
				}
				s.eventually("a refusal", func() bool {
					response, _ := do(t, client, http.MethodGet, url+"/some%20path?q", nil)
					if response.StatusCode == http.StatusOK {
						return false
					}
					if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" ||
						response.Close {
						t.Errorf("status %d, header %v, close %v", response.StatusCode, response.Header, response.Close)
					}
					return true
				})
				record := s.record()
				for record.Status == http.StatusOK {
					record = s.record()
				}
				if record.Code != telemetry.CodeLimited || record.Reason != "transport.limits."+option+" is exceeded" ||
					record.Path != "/some%20path" || record.Host != s.address || record.Entrypoint != "web" {
					t.Errorf("record %+v", record)
				}
				s.eventually("a token", func() bool {
					response, _ := do(t, client, http.MethodGet, url, nil)
					return response.StatusCode == http.StatusOK
				})
			})
		}
	}
}

// TestRequestRateKeepsConnections goes on with a connection of HTTP/1.1 behind a refused request with a body, up to
// keepAliveMaxRequests.
func TestRequestRateKeepsConnections(t *testing.T) {
	visit(t, func(c *static.EntryPoint) {
		c.Transport.Limits.MaxRequestRate = 1
		c.Transport.KeepAliveMaxRequests = 4
	}, func(t *testing.T, v *visited) {
		conn := v.connect("192.0.2.1")
		post := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
		for n, step := range []struct {
			after  time.Duration
			text   string
			status int
		}{{0, get, 200}, {0, post, 429}, {time.Second, get, 200}, {0, get, 429}} {
			pass(step.after)
			response, status := request(conn, step.text)
			if status != step.status {
				t.Fatalf("request %d: status %d, want %d", n, status, step.status)
			}
			if response.Close != (n == 3) {
				t.Errorf("request %d: close is %v", n, response.Close)
			}
		}
	})
}

// TestRequestRatePerClient takes no token of the others for what a client has in excess.
func TestRequestRatePerClient(t *testing.T) {
	visit(t, func(c *static.EntryPoint) {
		c.Transport.Limits.MaxRequestRate, c.Transport.Limits.MaxRequestRatePerClient = 2, 1
	}, func(t *testing.T, v *visited) {
		for n, step := range []struct {
			client string
			status int
			reason string
		}{
			{"192.0.2.1", 200, ""},
			{"192.0.2.1", 429, "transport.limits.maxRequestRatePerClient is exceeded"},
			{"192.0.2.1", 429, "transport.limits.maxRequestRatePerClient is exceeded"},
			{"2001:db8::1", 200, ""},
			{"2001:db8::2", 429, "transport.limits.maxRequestRatePerClient is exceeded"},
			{"192.0.2.3", 429, "transport.limits.maxRequestRate is exceeded"},
		} {
			conn := v.connect(step.client)
			_, status := request(conn, get)
			_ = conn.Close()
			record := v.record()
			if status != step.status || record.Reason != step.reason {
				t.Errorf("request %d: status %d, reason %q", n, status, record.Reason)
			}
		}
	})
}

// TestRefusalsAreLoggedOnceAMinute logs the first refusal at once, and then how many there were.
func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	visit(t, func(c *static.EntryPoint) {
		c.Transport.Limits.MaxConnectionRatePerClient = 1
		c.Transport.Limits.MaxConnections = 1
	}, func(t *testing.T, v *visited) {
		want := func(when string, lines ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(lines, v.all()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		line := func(reason, option, count, client string) string {
			return "connections refused: transport.limits." + option + " entrypoint web reason " + reason + " count " + count +
				" client " + client
		}
		const perClient, exceeded = "connection_rate_per_client", "maxConnectionRatePerClient is exceeded"
		v.accepts("192.0.2.1", "")
		want("nothing was refused")
		v.accepts("192.0.2.1", "")
		want("the first", line(perClient, exceeded, "1", "192.0.2.1"))
		v.accepts("192.0.2.2", "")
		for range 20 {
			v.accepts("192.0.2.1", "")
		}
		v.accepts("192.0.2.2", "")
		pass(59 * time.Second)
		want("within a minute")
		held := v.connect("192.0.2.7")
		if _, status := request(held, get); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		v.accepts("192.0.2.8", "")
		want("another reason", line("max_connections", "maxConnections is reached", "1", "192.0.2.8"))
		pass(time.Second)
		want("after a minute", line(perClient, exceeded, "21", "192.0.2.2"))
		pass(time.Hour)
		want("a quiet hour")
		v.accepts("192.0.2.9", "")
		v.accepts("192.0.2.9", "")
		want("the first after that", line(perClient, exceeded, "1", "192.0.2.9"))
		v.accepts("192.0.2.9", "")
		v.stop()
		v.wait()
		want("the end", line(perClient, exceeded, "1", "192.0.2.9"))
	})
}
