package entrypoint_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// rawTransport sends one HTTP/1.1 request with header lines as they are.
type rawTransport struct {
	s     *served
	lines string
}

func (r rawTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	conn := r.s.dial()
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", request.Method, request.URL.RequestURI(),
		request.URL.Host, r.lines); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), request)
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

func TestMaxConnections(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) { c.Transport.Limits.MaxConnections = 2 })
	first, second := s.dial(), s.dial()
	say(t, first, get)
	answer(t, bufio.NewReader(first))
	say(t, second, get)
	answer(t, bufio.NewReader(second))
	third := s.dial()
	if n, err := third.Read(make([]byte, 1)); err == nil {
		t.Errorf("a third connection got %d bytes", n)
	}
	s.logged("transport.limits.maxConnections is reached")
	_ = first.Close()
	s.eventually("room for one more", func() bool { return s.connections() == 1 })
	fourth := s.dial()
	say(t, fourth, get)
	answer(t, bufio.NewReader(fourth))
}

// eventually waits until the connections of the entrypoint meet a condition.
func (s *served) eventually(what string, condition func() bool) {
	s.t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(timeout); !condition(); <-ticker.C {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestMaxConnectionsPerClient(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.Limits.MaxConnectionsPerClient = 1
		c.ProxyProtocol = &static.ProxyProtocol{Insecure: true}
	})
	for _, step := range []struct {
		client   string
		accepted bool
	}{
		{"203.0.113.1", true},
		{"203.0.113.1", false},
		{"203.0.113.2", true},
		{"2001:db8:0:1::1", true},
		{"2001:db8:0:1::2", false},
		{"2001:db8:0:2::1", true},
	} {
		source, destination := netip.AddrPortFrom(netip.MustParseAddr(step.client), 4711).String(), "198.51.100.1:80"
		if strings.Contains(step.client, ":") {
			destination = "[2001:db8::1]:80"
		}
		conn := s.dial()
		say(t, conn, proxyHeader(t, 1, source, destination)+get)
		_, err := bufio.NewReader(conn).ReadString('\n')
		if accepted := err == nil; accepted != step.accepted {
			t.Errorf("%s: accepted %v", step.client, accepted)
		}
	}
	s.logged("maxConnectionsPerClient is reached")
}

func TestHeaderLimits(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
				c.HTTP.MaxHeaderCount, c.HTTP.MaxHeaderBytes = 20, 4096
			})
			client, url := s.client(protocol)
			many := func(n int) []string {
				var headers []string
				for i := range n {
					headers = append(headers, fmt.Sprintf("Header-%d", i), "1")
				}
				return headers
			}
			if response, _ := do(t, client, http.MethodGet, url, nil, many(15)...); response.StatusCode != 200 {
				t.Errorf("15 headers: %d", response.StatusCode)
			}
			if record := s.record(); record.Status != 200 {
				t.Errorf("record %+v", record)
			}
			if response, _ := do(t, client, http.MethodGet, url, nil, many(30)...); response.StatusCode != 431 {
				t.Errorf("30 headers: %d", response.StatusCode)
			}
			if record := s.record(); record.Status != 431 || !strings.Contains(record.Reason, "http.maxHeaderCount") {
				t.Errorf("record %+v", record)
			}
			response, _, err := try(t, client, http.MethodGet, url, nil, "Long", strings.Repeat("x", 16<<10))
			if err == nil && response.StatusCode != 431 {
				t.Errorf("a long header: %d", response.StatusCode)
			}
		})
	}
}

func TestKeepAliveLimits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*static.EntryPoint){
		"requests": func(c *static.EntryPoint) { c.Transport.KeepAliveMaxRequests = 3 },
		"time":     func(c *static.EntryPoint) { c.Transport.KeepAliveMaxTime = static.Duration(time.Nanosecond) },
	} {
		last := map[string]int{"requests": 3, "time": 1}[name]
		for _, protocol := range tcpProtocols() {
			t.Run(name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				from := make(chan string, last+1)
				s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					from <- r.RemoteAddr
					hello(w, r)
				}), change)
				client, url := s.client(protocol)
				for i := 1; i <= last; i++ {
					response, _ := do(t, client, http.MethodGet, url, nil)
					if closes := response.Close; response.ProtoMajor == 1 && closes != (i == last) {
						t.Errorf("request %d: close is %v", i, closes)
					}
				}
				// The client must have been notified: no request fails. It may open more connections than it then uses.
				do(t, client, http.MethodGet, url, nil)
				first := <-from
				for i := 2; i <= last; i++ {
					if got := <-from; got != first {
						t.Errorf("request %d came over another connection", i)
					}
				}
				if <-from == first {
					t.Errorf("request %d came over the connection that had served %d", last+1, last)
				}
			})
		}
	}
}

// TestSlowClientsOfHTTP1 closes connections that bring no head in time, and serves others meanwhile.
func TestSlowClientsOfHTTP1(t *testing.T) {
	for _, test := range []struct{ name, sent string }{
		{"silent", ""},
		{"slow head", "GET / HTTP/1.1\r\nHost: a\r\n"},
		{"h2 preface only in part", "PRI * HTTP/2.0\r\n\r\nSM"},
	} {
		t.Run(test.name, func(t *testing.T) {
			visit(t, shortRead, func(t *testing.T, v *visited) {
				conn := v.connect("192.0.2.1")
				if test.sent != "" {
					say(t, conn, test.sent)
				}
				client, url := v.client("h1")
				do(t, client, http.MethodGet, url, nil)
				got, err := io.ReadAll(conn)
				if err != nil || strings.Contains(string(got), "200") {
					t.Errorf("got %q, error %v", got, err)
				}
			})
		})
	}
	t.Run("slow body that says it is gRPC", func(t *testing.T) {
		visitHandler(t, readAll, shortRead, func(t *testing.T, v *visited) {
			say(t, v.connect("192.0.2.1"),
				"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc-web\r\nContent-Length: 9\r\n\r\nx")
			if err := receive(t, v.over, "the end of the body"); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	})
}

// readAll reads the body, and answers that it was slow.
func readAll(w http.ResponseWriter, r *http.Request, over chan<- error) {
	_, err := io.ReadAll(r.Body)
	over <- err
	http.Error(w, "slow", http.StatusRequestTimeout)
}

// slowBodies tests what readTimeout does to bodies. serve serves a handler, and plays its client.
func slowBodies(
	t *testing.T, read time.Duration,
	serve func(t *testing.T, handle handler, play func(t *testing.T, client *http.Client, url string, over <-chan error)),
) {
	t.Helper()
	t.Run("slow body", func(t *testing.T) {
		serve(t, readAll, func(t *testing.T, client *http.Client, url string, over <-chan error) {
			t.Helper()
			reader, writer := io.Pipe()
			defer func() { _ = writer.Close() }()
			go func() { _, _ = writer.Write([]byte("x")) }()
			response, _, err := try(t, client, http.MethodPost, url, reader)
			if err == nil && response.StatusCode != http.StatusRequestTimeout {
				t.Errorf("status %d", response.StatusCode)
			}
			if err := receive(t, over, "the end of the body"); err == nil {
				t.Error("the body ended well")
			}
		})
	})
	t.Run("steady body", func(t *testing.T) {
		serve(t, func(w http.ResponseWriter, r *http.Request, _ chan<- error) {
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %v", body, err)
		}, func(t *testing.T, client *http.Client, url string, _ <-chan error) {
			t.Helper()
			const bytes = 12
			_, body := do(t, client, http.MethodPost, url, &steady{left: bytes, pause: read / 8})
			if body != strings.Repeat("x", bytes)+" <nil>" {
				t.Errorf("got %q", body)
			}
		})
	})
	t.Run("stream", func(t *testing.T) {
		// Once the response has begun, the client may be silent for longer than readTimeout.
		serve(t, func(w http.ResponseWriter, r *http.Request, _ chan<- error) {
			_ = http.NewResponseController(w).EnableFullDuplex()
			_ = http.NewResponseController(w).Flush()
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %v", body, err)
		}, func(t *testing.T, client *http.Client, url string, _ <-chan error) {
			t.Helper()
			if _, body := do(t, client, http.MethodPost, url, &steady{left: 2, pause: read * 5 / 4}); body != "xx <nil>" {
				t.Errorf("got %q", body)
			}
		})
	})
}

func TestSlowBodies(t *testing.T) {
	for _, protocol := range tcpProtocols() {
		t.Run(protocol, func(t *testing.T) {
			slowBodies(t, 500*time.Millisecond, func(
				t *testing.T, handle handler, play func(*testing.T, *http.Client, string, <-chan error),
			) {
				t.Helper()
				visitHandler(t, handle, shortRead, func(t *testing.T, v *visited) {
					client, url := v.client(protocol)
					play(t, client, url, v.over)
				})
			})
		})
	}
	const read = 3 * time.Second // There is no QUIC in memory, and a handshake takes a part of it on a busy machine.
	t.Run("h3", func(t *testing.T) {
		t.Parallel()
		slowBodies(t, read, func(
			t *testing.T, handle handler, play func(*testing.T, *http.Client, string, <-chan error),
		) {
			t.Helper()
			t.Parallel()
			over := make(chan error, 1)
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handle(w, r, over)
			}), func(c *static.EntryPoint) { c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(read) })
			play(t, s.http3(nil), "https://"+s.address, over)
		})
	})
}

// steady is a body of single bytes with pauses between them.
type steady struct {
	left  int
	pause time.Duration
}

func (s *steady) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	<-time.NewTimer(s.pause).C
	return copy(p, "x"), nil
}

func TestIdleAndWriteTimeout(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.IdleTimeout = static.Duration(50 * time.Millisecond)
	})
	if got := s.raw(get); !strings.HasSuffix(got, "hello") {
		t.Errorf("got %q", got)
	}
	failed := make(chan error, 1)
	s = start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				failed <- err
				return
			}
		}
	}), func(c *static.EntryPoint) {
		c.Transport.RespondingTimeouts.WriteTimeout = static.Duration(100 * time.Millisecond)
	})
	say(t, s.dial(), get)
	if err := receive(t, failed, "the end of writing"); err == nil {
		t.Error("no error")
	}
}
