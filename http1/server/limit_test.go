package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// TestServerSlowClients sends a byte a second, and looks at when the server ends the connection.
func TestServerSlowClients(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, first string
		rest        byte
		read        time.Duration
		rate        int
		// atLeast and atMost bound when the connection ends.
		atLeast, atMost time.Duration
	}{
		{"head within ReadTimeout", "GET / HTTP/1.1\r\nHost: a\r\nX: ", 'x', time.Minute, 0, time.Minute, 61 * time.Second},
		{"head below the rate", "GET / HTTP/1.1\r\nHost: a\r\nX: ", 'x', time.Minute, 100, 5 * time.Second, 6 * time.Second},
		{"body below the rate", post("Content-Length: 1000"), 'x', time.Minute, 100, 5 * time.Second, 6 * time.Second},
		{
			"chunks below the rate", post("Transfer-Encoding: chunked") + "fff\r\n", 'x', time.Minute, 100, 5 * time.Second,
			6 * time.Second,
		},
		{"body at its own rate", post("Content-Length: 100"), 'x', time.Minute, 1, 100 * time.Second, 100 * time.Second},
		{"body without a rate", post("Content-Length: 100"), 'x', time.Minute, 0, 100 * time.Second, 100 * time.Second},
		{"body without any limit", post("Content-Length: 100"), 'x', 0, 0, 100 * time.Second, 100 * time.Second},
		{
			"stream", "POST /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", 'x', time.Second / 2, 100,
			100 * time.Second, 101 * time.Second,
		},
		// gRPC is HTTP/2: a body of HTTP/1.1 gets no more time by that type.
		{
			"gRPC", post("Content-Length: 100", "Content-Type: application/grpc"), 'x', time.Second / 2, 100, time.Second / 2,
			time.Second,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				handler := func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/stream" {
						w.(http.Flusher).Flush()
					}
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Connection", "close")
				}
				start := time.Now()
				client, over := pipe(&server.Server{
					ReadTimeout: test.read, MinRate: test.rate, Handler: http.HandlerFunc(handler),
				})
				go func() { _, _ = io.Copy(io.Discard, client) }()
				_, _ = io.WriteString(client, test.first)
				for {
					pause := time.NewTimer(time.Second)
					<-pause.C
					if _, err := client.Write([]byte{test.rest}); err != nil {
						break
					}
				}
				if took := (<-over).Sub(start); took < test.atLeast || took > test.atMost {
					t.Errorf("the connection ended after %v", took)
				}
				_ = client.Close()
			})
		})
	}
}

// TestServerLazyDeadlines serves requests at a steady pace for longer than the idle time-out that was set first.
func TestServerLazyDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, over := pipe(&server.Server{
			ReadTimeout: time.Minute, IdleTimeout: 10 * time.Second, Handler: http.HandlerFunc(hello),
		})
		reader := bufio.NewReader(client)
		last := time.Now()
		for range 20 {
			pause := time.NewTimer(7 * time.Second)
			<-pause.C
			last = time.Now()
			say(t, client, get)
			answer(t, reader)
		}
		if idle := (<-over).Sub(last); idle != 10*time.Second {
			t.Errorf("the connection was idle for %v", idle)
		}
		_ = client.Close()
	})
}

// TestServerIdleAfterStream has a response that takes longer than the idle time-out.
func TestServerIdleAfterStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			pause := time.NewTimer(time.Minute)
			<-pause.C
		}
		client, _ := pipe(&server.Server{IdleTimeout: 10 * time.Second, Handler: http.HandlerFunc(handler)})
		reader := bufio.NewReader(client)
		for range 2 {
			say(t, client, get)
			answer(t, reader)
			pause := time.NewTimer(9 * time.Second)
			<-pause.C
		}
		_ = client.Close()
		synctest.Wait()
	})
}

// TestServerKeepsNoMemory sends large heads on many connections, and looks at what is kept while they are idle.
func TestServerKeepsNoMemory(t *testing.T) {
	const conns = 100
	g := newRig(t, &server.Server{Handler: http.HandlerFunc(hello)}, nil)
	request := "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 500) + "\r\n"
	before := http1test.Heap()
	for range conns {
		_, reader := g.Open(request)
		answer(t, reader)
	}
	// The client's side has a buffer of 4 KiB for each.
	if grown := (http1test.Heap() - before) / conns; grown > 16<<10 {
		t.Errorf("a connection that is idle keeps %d bytes", grown)
	}
}

func TestServerEndOfContext(t *testing.T) {
	t.Parallel()
	client, conn := net.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	server := &server.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		if !errors.Is(r.Context().Err(), context.Canceled) {
			t.Error(r.Context().Err())
		}
	})}
	over := make(chan struct{})
	go func() {
		server.ServeConn(ctx, conn)
		close(over)
	}()
	say(t, client, get)
	answer(t, bufio.NewReader(client))
	_ = client.Close()
	http1test.Receive(t, over, "the end")
}

func TestServerHandlerEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	g := serve(t, func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
	if got := g.Raw(get); got != "" {
		t.Errorf("got %q", got)
	}
}

// TestServerOwnDeadlines lets a handler set deadlines, which end with its request.
func TestServerOwnDeadlines(t *testing.T) {
	t.Parallel()
	tried := make(chan struct{})
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.URL.Path != "/own" {
			hello(w, r)
			return
		}
		_ = control.SetWriteDeadline(time.Now().Add(time.Hour))
		_ = control.SetReadDeadline(time.Now().Add(-time.Second))
		_, first := r.Body.Read(make([]byte, 10))
		_ = control.SetReadDeadline(time.Time{})
		close(tried)
		body, err := io.ReadAll(r.Body)
		text := fmt.Sprintf("%v %s %v", errors.Is(first, os.ErrDeadlineExceeded), body, err)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = io.WriteString(w, text)
		_ = control.Flush() // Nothing is left to be written before the next deadline.
		_ = control.SetReadDeadline(time.Now().Add(-time.Second))
		_ = control.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
	})
	conn := g.Dial()
	say(t, conn, "POST /own HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n")
	http1test.Receive(t, tried, "the end of the first Read")
	say(t, conn, "body")
	reader := bufio.NewReader(conn)
	if _, body := answer(t, reader); body != "true body <nil>" {
		t.Errorf("got %q", body)
	}
	pause := time.NewTimer(50 * time.Millisecond)
	<-pause.C
	say(t, conn, get)
	if _, body := answer(t, reader); body != "hello" {
		t.Errorf("then %q", body)
	}
}

// TestServerDeadlineWakesReader sets a deadline while another goroutine reads.
func TestServerDeadlineWakesReader(t *testing.T) {
	t.Parallel()
	for kind, wrap := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, &server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				read := make(chan error, 1)
				reading := make(chan struct{})
				go func() {
					_, _ = r.Body.Read(make([]byte, 1))
					close(reading)
					_, err := r.Body.Read(make([]byte, 1))
					read <- err
				}()
				<-reading
				_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
				if err := http1test.Receive(t, read, "the reader"); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
			})}, wrap)
			_, reader := g.Open(post("Content-Length: 4") + "x")
			answer(t, reader)
		})
	}
}

// TestServerSwitchWithoutHijack answers 101 and does not hijack.
func TestServerSwitchWithoutHijack(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) })
	if got := g.Raw(get + get); strings.Count(got, "HTTP/1.1") != 1 {
		t.Errorf("got %q", got)
	}
}

// TestServerPipelinesNothingUnread has a client that sends requests without end and reads no response. The server reads
// no more of them than fit into its buffer, and runs one handler, until the time for the response is over.
func TestServerPipelinesNothingUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var handled atomic.Int32
		began := time.Now()
		client, over := pipe(&server.Server{
			WriteTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handled.Add(1)
				hello(w, r)
			}),
		})
		var taken atomic.Int64
		go func() {
			for {
				n, err := io.WriteString(client, get)
				taken.Add(int64(n))
				if err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		if n := taken.Load(); n > 64<<10 {
			t.Errorf("%d bytes were read", n)
		}
		if n := handled.Load(); n < 1 || n > 64<<10/int32(len(get)) {
			t.Errorf("%d requests were handled", n)
		}
		if took := (<-over).Sub(began); took != time.Minute {
			t.Errorf("the connection ended after %v", took)
		}
		_ = client.Close()
	})
}

// TestServerCloseIdle closes connections that have been idle for ten seconds or longer, and no others.
func TestServerCloseIdle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// idle is how long the connection waits for a request; the handler takes until then where it has none.
		idle  time.Duration
		busy  bool
		fresh bool
		ended bool
	}{
		{name: "idle", idle: 10 * time.Second, ended: true},
		{name: "not for so long", idle: 9 * time.Second},
		{name: "busy", idle: 10 * time.Second, busy: true},
		{name: "no request yet", idle: 10 * time.Second, fresh: true, ended: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				tested := &server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if test.busy {
						<-release
					}
					hello(w, r)
				})}
				client, over := pipe(tested)
				reader := bufio.NewReader(client)
				if !test.fresh {
					say(t, client, get)
				}
				if !test.fresh && !test.busy {
					answer(t, reader)
				}
				pause := time.NewTimer(test.idle)
				<-pause.C
				tested.CloseIdle(10 * time.Second)
				synctest.Wait()
				select {
				case <-over:
					if !test.ended {
						t.Error("it has ended")
					}
					return
				default:
				}
				if test.ended {
					t.Error("it has not ended")
				}
				close(release)
				if test.busy {
					answer(t, reader)
				}
				say(t, client, get)
				answer(t, reader)
				_ = client.Close()
				<-over
			})
		})
	}
}
