package client_test

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

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

type closeCounter struct {
	io.Reader
	closed atomic.Int32
}

func (c *closeCounter) Close() error {
	c.closed.Add(1)
	return nil
}

// await waits until the body has been closed, before which its last write has returned. It is for an endpoint whose
// connection is to be kept: a client that has to wait for that write for long does not keep it.
func (c *closeCounter) await(t *testing.T) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(http1test.Timeout); c.closed.Load() == 0; <-tick.C {
		if time.Now().After(end) {
			t.Error("the body is not closed")
			return
		}
	}
}

// dyingEndpoint answers the first request of each connection, and closes the first connection at its second request.
func dyingEndpoint(t *testing.T, seen *atomic.Int32) *http1test.Endpoint {
	return http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		for i := 0; ; i++ {
			if conn.Head() == "" {
				return
			}
			if i == 1 && number == 1 {
				seen.Add(1)
				return
			}
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
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
			upstream := testUpstream(t, endpoint.Address(), nil)
			if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))); got.Body != "ok" {
				t.Fatalf("the first answer is %+v", got)
			}
			var call client.RoundTrip
			got := take(upstream.Do(&call, testRequest(t, test.method, endpoint.Address(), test.body)))
			if seen.Load() != 1 {
				t.Fatal("the second request did not come on the first connection")
			}
			if got.Failed == test.repeated || !call.Sent() {
				t.Errorf("repeated: %v, want %v; sent: %v", !got.Failed, test.repeated, call.Sent())
			}
		})
	}
}

// TestBodiesWaitForAConnection: until there is one, another endpoint may get them.
func TestBodiesWaitForAConnection(t *testing.T) {
	gone := errors.New("unreachable")
	upstream := testUpstream(t, "", func(config *client.Config) {
		config.Dial = func(context.Context) (net.Conn, error) { return nil, gone }
	})
	text := strings.NewReader("hello")
	var call client.RoundTrip
	_, err := upstream.Do(&call, testRequest(t, "POST", "a.example", text))
	if !errors.Is(err, gone) || call.Sent() || text.Len() != 5 {
		t.Errorf("%v; sent: %v; %d bytes are left", err, call.Sent(), text.Len())
	}
}

// TestShortBodiesAreNotRepeated: the fault is the client's.
func TestShortBodiesAreNotRepeated(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, http1test.Answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	upstream := testUpstream(t, endpoint.Address(), nil)
	take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil)))
	r := testRequest(t, "PUT", endpoint.Address(), strings.NewReader("hello"))
	r.ContentLength = 6
	_, err := upstream.RoundTrip(r)
	if !errors.Is(err, client.ErrBodyShort) || endpoint.Accepted() != 1 {
		t.Errorf("%v after %d connections", err, endpoint.Accepted())
	}
}

func TestFreshConnectionsAreNotTriedTwice(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) { conn.Head() })
	got := take(testUpstream(t, endpoint.Address(), nil).RoundTrip(testRequest(t, "GET", endpoint.Address(), nil)))
	if !got.Failed || endpoint.Accepted() != 1 {
		t.Errorf("failed: %v after %d connections", got.Failed, endpoint.Accepted())
	}
}

// TestPartialResponsesAreNotRepeated: the endpoint has seen the request.
func TestPartialResponsesAreNotRepeated(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		for i := 0; conn.Head() != ""; i++ {
			if i == 1 {
				conn.Say("HTTP/1.1 2")
				return
			}
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil)))
	if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))); !got.Failed {
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
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		if number > many {
			http1test.Answering("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew")(conn, number)
			return
		}
		conn.Head()
		together.Done()
		together.Wait()
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
		<-release
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	storm := func(want string) {
		var requests sync.WaitGroup
		for range many {
			requests.Go(func() {
				got := take(upstream.RoundTrip(testRequest(t, "POST", endpoint.Address(), strings.NewReader("x"))))
				if got.Body != want {
					t.Errorf("the answer is %+v", got)
				}
			})
		}
		requests.Wait()
	}
	storm("old")
	if got := upstream.Idle(); got != many {
		t.Fatalf("%d idle connections", got)
	}
	close(release)
	http1test.Eventually(t, "the watch drops what was closed", func() bool { return upstream.Idle() == 0 })
	storm("new")
}

// TestClosedConnectionsAreSeenWithoutTheWatch looks at the connection itself, which is what happens where nothing
// watches.
func TestClosedConnectionsAreSeenWithoutTheWatch(t *testing.T) {
	release, closed := make(chan struct{}), make(chan struct{})
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		conn.Head()
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		if number == 1 {
			<-release
			_ = conn.Close()
			close(closed)
		}
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	take(upstream.RoundTrip(testRequest(t, "POST", endpoint.Address(), nil)))
	if !client.Quiet(upstream) {
		t.Fatal("there is no quiet connection")
	}
	client.Unwatch(upstream)
	close(release)
	http1test.Receive(t, closed, "the end of the connection")
	http1test.Eventually(t, "the connection is seen to be closed", func() bool { return !client.Quiet(upstream) })
	if got := take(upstream.RoundTrip(testRequest(t, "POST", endpoint.Address(), nil))); got.Status != http.StatusOK {
		t.Errorf("the answer is %+v", got)
	}
}

// TestSurplusIsDropped has an endpoint send a second response without a request, at different moments. CVE class:
// response queue poisoning.
func TestSurplusIsDropped(t *testing.T) {
	const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	tests := map[string]func(conn *http1test.Conn, next <-chan struct{}, sent chan<- struct{}){
		"with the response": func(conn *http1test.Conn, next <-chan struct{}, sent chan<- struct{}) {
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood" + evil)
			<-next
			close(sent)
		},
		"behind a large response": func(conn *http1test.Conn, next <-chan struct{}, sent chan<- struct{}) {
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000) + evil)
			<-next
			close(sent)
		},
		"later": func(conn *http1test.Conn, next <-chan struct{}, sent chan<- struct{}) {
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
			<-next
			conn.Say(evil)
			close(sent)
		},
		"a time-out": func(conn *http1test.Conn, next <-chan struct{}, sent chan<- struct{}) {
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
			<-next
			conn.Say("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			_ = conn.Close()
			close(sent)
		},
	}
	for name, play := range tests {
		t.Run(name, func(t *testing.T) {
			next, sent := make(chan struct{}), make(chan struct{})
			done := make(chan struct{})
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
				conn.Head()
				if number > 1 {
					conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine")
					return
				}
				play(conn, next, sent)
				<-done
			})
			defer close(done)
			upstream := testUpstream(t, endpoint.Address(), nil)
			if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))); got.Failed {
				t.Fatal("the first request failed")
			}
			close(next)
			http1test.Receive(t, sent, "the surplus")
			// Loopback delivers before it returns to the writer; the kernel promises no such thing. Each look takes one byte
			// of the surplus. The others wait for the next request.
			http1test.Eventually(t, "the surplus is seen", func() bool { return !client.Quiet(upstream) })
			if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))); got.Body != "mine" {
				t.Errorf("the next request got %+v", got)
			}
		})
	}
}

// TestIdleConnectionsAreBounded keeps the newest.
func TestIdleConnectionsAreBounded(t *testing.T) {
	var together sync.WaitGroup
	together.Add(3)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn.Head()
		together.Done()
		together.Wait()
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		conn.Head()
	})
	upstream := testUpstream(t, endpoint.Address(), func(config *client.Config) { config.MaxIdle = 2 })
	var requests sync.WaitGroup
	for range 3 {
		requests.Go(func() { take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))) })
	}
	requests.Wait()
	if got := upstream.Idle(); got != 2 {
		t.Errorf("%d idle connections", got)
	}
	upstream.CloseIdleConnections()
	if got := upstream.Idle(); got != 0 {
		t.Errorf("%d idle connections after closing them", got)
	}
}

func TestNewestConnectionComesFirst(t *testing.T) {
	const many = 3
	begun := make(chan *http1test.Conn, many)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		for conn.Head() != "" {
			if number > many {
				return
			}
			begun <- conn
		}
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	var requests sync.WaitGroup
	var conns []*http1test.Conn
	request := func() *http1test.Conn {
		requests.Go(func() { take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))) })
		return http1test.Receive(t, begun, "a request")
	}
	for range many {
		conns = append(conns, request())
	}
	for i, conn := range conns {
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		http1test.Eventually(t, "the connection is idle", func() bool { return upstream.Idle() == i+1 })
	}
	for i := len(conns) - 1; i >= 0; i-- {
		if conn := request(); conn != conns[i] {
			t.Fatalf("the wrong connection instead of number %d", i)
		}
	}
	for _, conn := range conns {
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
	requests.Wait()
}
