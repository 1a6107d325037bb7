package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type closeCounter struct {
	io.Reader
	closed atomic.Int32
}

func (c *closeCounter) Close() error {
	c.closed.Add(1)
	return nil
}

// dyingEndpoint answers the first request of each connection, and closes the first connection at its second request.
func dyingEndpoint(t *testing.T, seen *atomic.Int32) *rawEndpoint {
	return newRawEndpoint(t, func(conn *rawConn, number int) {
		for i := 0; ; i++ {
			if conn.head() == "" {
				return
			}
			if i == 1 && number == 1 {
				seen.Add(1)
				return
			}
			conn.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
}

// TestRequestsAreRepeated sends a request on a connection that the endpoint closes at that moment.
func TestRequestsAreRepeated(t *testing.T) {
	memory := func(text string) io.Reader { return strings.NewReader(text) }
	tests := []struct {
		name, method string
		body         io.Reader
		repeated     bool
	}{
		{"GET", "GET", nil, true},
		{"HEAD", "HEAD", nil, true},
		{"DELETE", "DELETE", nil, true},
		{"PUT at hand", "PUT", memory("x"), true},
		{"PUT that streams", "PUT", streamed(memory("x")), false},
		{"POST", "POST", nil, false},
		{"POST at hand", "POST", memory("x"), false},
		{"PATCH", "PATCH", nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var seen atomic.Int32
			endpoint := dyingEndpoint(t, &seen)
			upstream := testUpstream(t, endpoint.address(), nil)
			if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.address(), nil))); got.Body != "ok" {
				t.Fatalf("the first answer is %+v", got)
			}
			var call RoundTrip
			got := take(upstream.Do(&call, testRequest(t, test.method, endpoint.address(), test.body)))
			if seen.Load() != 1 {
				t.Fatal("the second request did not come on the first connection")
			}
			if got.Failed == test.repeated || !call.Sent() {
				t.Errorf("repeated: %v, want %v; sent: %v", !got.Failed, test.repeated, call.Sent())
			}
		})
	}
}

// TestBodiesWaitForAConnection: until there is one, somebody else may have to send them.
func TestBodiesWaitForAConnection(t *testing.T) {
	gone := errors.New("nobody there")
	upstream := testUpstream(t, "", func(config *UpstreamConfig) {
		config.Dial = func(context.Context) (net.Conn, error) { return nil, gone }
	})
	text := strings.NewReader("hello")
	var call RoundTrip
	_, err := upstream.Do(&call, testRequest(t, "POST", "a.example", text))
	if !errors.Is(err, gone) || call.Sent() || text.Len() != 5 {
		t.Errorf("%v; sent: %v; %d bytes are left", err, call.Sent(), text.Len())
	}
}

// TestShortBodiesAreNotRepeated: the fault is the client's.
func TestShortBodiesAreNotRepeated(t *testing.T) {
	endpoint := newRawEndpoint(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	upstream := testUpstream(t, endpoint.address(), nil)
	take(upstream.RoundTrip(testRequest(t, "GET", endpoint.address(), nil)))
	r := testRequest(t, "PUT", endpoint.address(), strings.NewReader("hello"))
	r.ContentLength = 6
	_, err := upstream.RoundTrip(r)
	if !errors.Is(err, errBodyShort) || endpoint.accepted.Load() != 1 {
		t.Errorf("%v after %d connections", err, endpoint.accepted.Load())
	}
}

func TestFreshConnectionsAreNotTriedTwice(t *testing.T) {
	endpoint := newRawEndpoint(t, func(conn *rawConn, _ int) { conn.head() })
	got := take(testUpstream(t, endpoint.address(), nil).RoundTrip(testRequest(t, "GET", endpoint.address(), nil)))
	if !got.Failed || endpoint.accepted.Load() != 1 {
		t.Errorf("failed: %v after %d connections", got.Failed, endpoint.accepted.Load())
	}
}

// TestPartialResponsesAreNotRepeated: the endpoint has seen the request.
func TestPartialResponsesAreNotRepeated(t *testing.T) {
	endpoint := newRawEndpoint(t, func(conn *rawConn, _ int) {
		for i := 0; conn.head() != ""; i++ {
			if i == 1 {
				conn.say("HTTP/1.1 2")
				return
			}
			conn.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	upstream := testUpstream(t, endpoint.address(), nil)
	take(upstream.RoundTrip(testRequest(t, "GET", endpoint.address(), nil)))
	if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.address(), nil))); !got.Failed {
		t.Errorf("it was sent again: %+v", got)
	}
}

// TestStaleConnections has an endpoint close many idle connections. The next requests, of the kind that can't be
// repeated, meet none of them.
func TestStaleConnections(t *testing.T) {
	const many = 200
	release := make(chan struct{})
	var together sync.WaitGroup
	together.Add(many)
	endpoint := newRawEndpoint(t, func(conn *rawConn, number int) {
		if number > many {
			answering("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew")(conn, number)
			return
		}
		conn.head()
		together.Done()
		together.Wait()
		conn.say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
		<-release
	})
	upstream := testUpstream(t, endpoint.address(), nil)
	storm := func(want string) {
		var requests sync.WaitGroup
		for range many {
			requests.Go(func() {
				got := take(upstream.RoundTrip(testRequest(t, "POST", endpoint.address(), strings.NewReader("x"))))
				if got.Body != want {
					t.Errorf("the answer is %+v", got)
				}
			})
		}
		requests.Wait()
	}
	storm("old")
	if got := idleConns(upstream); got != many {
		t.Fatalf("%d idle connections", got)
	}
	close(release)
	eventually(t, "the watch drops what was closed", func() bool { return idleConns(upstream) == 0 })
	storm("new")
}

// eventually waits until something is so that nothing tells of.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !so() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-tick.C
	}
}

// TestClosedConnectionsAreSeenWithoutTheWatch looks at the connection itself, which is what happens where nothing
// watches.
func TestClosedConnectionsAreSeenWithoutTheWatch(t *testing.T) {
	release, closed := make(chan struct{}), make(chan struct{})
	endpoint := newRawEndpoint(t, func(conn *rawConn, number int) {
		conn.head()
		conn.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		if number == 1 {
			<-release
			_ = conn.Close()
			close(closed)
		}
	})
	upstream := testUpstream(t, endpoint.address(), nil)
	take(upstream.RoundTrip(testRequest(t, "POST", endpoint.address(), nil)))
	l := upstream.pop()
	if l == nil || !l.quiet() {
		t.Fatal("there is no quiet connection")
	}
	upstream.client.watch.remove(l)
	l.raw = nil
	upstream.put(l)
	close(release)
	arrives(t, closed, "the end of the connection")
	eventually(t, "the connection is seen to be closed", func() bool { return !l.quiet() })
	if got := take(upstream.RoundTrip(testRequest(t, "POST", endpoint.address(), nil))); got.Status != http.StatusOK {
		t.Errorf("the answer is %+v", got)
	}
}

// TestSurplusReachesNobody has an endpoint send a second response, which nobody asked for, at different moments. CVE
// class: response queue poisoning.
func TestSurplusReachesNobody(t *testing.T) {
	const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	tests := map[string]func(conn *rawConn, next <-chan struct{}, said chan<- struct{}){
		"with the response": func(conn *rawConn, next <-chan struct{}, said chan<- struct{}) {
			conn.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood" + evil)
			<-next
			close(said)
		},
		"behind a large response": func(conn *rawConn, next <-chan struct{}, said chan<- struct{}) {
			conn.say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000) + evil)
			<-next
			close(said)
		},
		"later": func(conn *rawConn, next <-chan struct{}, said chan<- struct{}) {
			conn.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
			<-next
			conn.say(evil)
			close(said)
		},
		"a time-out": func(conn *rawConn, next <-chan struct{}, said chan<- struct{}) {
			conn.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
			<-next
			conn.say("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			_ = conn.Close()
			close(said)
		},
	}
	for name, play := range tests {
		t.Run(name, func(t *testing.T) {
			next, said := make(chan struct{}), make(chan struct{})
			done := make(chan struct{})
			endpoint := newRawEndpoint(t, func(conn *rawConn, number int) {
				conn.head()
				if number > 1 {
					conn.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine")
					return
				}
				play(conn, next, said)
				<-done
			})
			defer close(done)
			upstream := testUpstream(t, endpoint.address(), nil)
			if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.address(), nil))); got.Failed {
				t.Fatal("the first request failed")
			}
			close(next)
			arrives(t, said, "the surplus")
			if l := upstream.pop(); l != nil {
				// Loopback delivers before it returns to the writer; the kernel promises no such thing.
				eventually(t, "the surplus is seen", func() bool { return !l.quiet() })
				// That took one byte of it. The others wait for the next request.
				upstream.put(l)
			}
			if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.address(), nil))); got.Body != "mine" {
				t.Errorf("the next request got %+v", got)
			}
		})
	}
}

// TestIdleConnectionsAreBounded keeps the newest.
func TestIdleConnectionsAreBounded(t *testing.T) {
	var together sync.WaitGroup
	together.Add(3)
	endpoint := newRawEndpoint(t, func(conn *rawConn, _ int) {
		conn.head()
		together.Done()
		together.Wait()
		conn.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		conn.head()
	})
	upstream := testUpstream(t, endpoint.address(), func(config *UpstreamConfig) { config.MaxIdle = 2 })
	var requests sync.WaitGroup
	for range 3 {
		requests.Go(func() { take(upstream.RoundTrip(testRequest(t, "GET", endpoint.address(), nil))) })
	}
	requests.Wait()
	if got := idleConns(upstream); got != 2 {
		t.Errorf("%d idle connections", got)
	}
	upstream.CloseIdleConnections()
	if got := idleConns(upstream); got != 0 {
		t.Errorf("%d idle connections after closing them", got)
	}
}

func TestNewestConnectionComesFirst(t *testing.T) {
	upstream := testUpstream(t, "127.0.0.1:0", nil)
	var conns []*clientConn
	for range 3 {
		near, far := net.Pipe()
		t.Cleanup(func() { _ = far.Close() })
		l := newClientConn(upstream, near)
		conns = append(conns, l)
		upstream.put(l)
	}
	for i := len(conns) - 1; i >= 0; i-- {
		if l := upstream.take(upstream.clock()); l != conns[i] {
			t.Fatalf("the wrong connection instead of number %d", i)
		}
		conns[i].close()
	}
}
