package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/httpio/afterfunc"
)

// TestCancellation ends the request's context at different moments. The endpoint sees the end of the connection.
func TestCancellation(t *testing.T) {
	tests := map[string]string{
		"before the head": "", "within the head": "HTTP/1.1 200 OK\r\nA:", "after 103": "HTTP/1.1 103 Early Hints\r\n\r\n",
		"before the body": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
		"within the body": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
		"within a chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
	}
	for name, bytes := range tests {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan struct{})
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
				conn.Head()
				conn.Say(bytes)
				cancel(cause)
				_, _ = io.Copy(io.Discard, conn.R)
				close(ended)
			})
			upstream := testUpstream(t, endpoint.Address(), nil)
			response, err := upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil).WithContext(ctx))
			if err == nil {
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			if !errors.Is(err, cause) {
				t.Errorf("the error is %v", err)
			}
			http1test.Receive(t, ended, "the end of the connection")
			if upstream.Idle() != 0 {
				t.Error("the connection was kept")
			}
		})
	}
}

// hookedContext is a context that runs functions at its end by itself, and counts.
type hookedContext struct {
	context.Context
	mutex           sync.Mutex
	waiting, called int
}

func (h *hookedContext) AfterFunc(f func()) func() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.waiting++
	h.called++
	stop := context.AfterFunc(h.Context, f)
	return func() bool {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.waiting--
		return stop()
	}
}

func (h *hookedContext) Value(key any) any {
	if _, ok := key.(afterfunc.Key); ok {
		return h
	}
	return h.Context.Value(key)
}

// TestContextsWithAfterFunc are used directly, below values too, and are left alone when the exchange has ended.
func TestContextsWithAfterFunc(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, http1test.Answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	upstream := testUpstream(t, endpoint.Address(), nil)
	base, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, wrap := range map[string]func(ctx context.Context) context.Context{
		"itself": func(ctx context.Context) context.Context { return ctx },
		"values": func(ctx context.Context) context.Context { return context.WithValue(ctx, new(int), 1) },
		"a layer with an end of its own": func(ctx context.Context) context.Context {
			own, stop := context.WithCancel(ctx)
			t.Cleanup(stop)
			return context.WithValue(own, new(int), 1)
		},
	} {
		hooked := &hookedContext{Context: base}
		r := testRequest(t, "GET", endpoint.Address(), nil).WithContext(wrap(hooked))
		if got := take(upstream.RoundTrip(r)); got.Body != "ok" {
			t.Fatalf("%s: %+v", name, got)
		}
		hooked.mutex.Lock()
		if direct := name != "a layer with an end of its own"; direct && (hooked.called != 1 || hooked.waiting != 0) {
			t.Errorf("%s: %d calls, %d of them wait", name, hooked.called, hooked.waiting)
		}
		hooked.mutex.Unlock()
	}
	if endpoint.Accepted() != 1 {
		t.Errorf("%d connections", endpoint.Accepted())
	}
}

// lateContext ends when the exchange does: it is too late to stop abort, which has not come yet.
type lateContext struct {
	context.Context
	abort chan func()
}

func (l *lateContext) AfterFunc(f func()) func() bool {
	l.abort <- f
	return func() bool { return false }
}

// TestAbortComesLate: it must not hit the next request on the connection.
func TestAbortComesLate(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, http1test.Answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	upstream := testUpstream(t, endpoint.Address(), nil)
	late := &lateContext{Context: t.Context(), abort: make(chan func(), 1)}
	if got := take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(),
		nil).WithContext(late))); got.Body != "ok" {
		t.Fatalf("the answer is %+v", got)
	}
	if upstream.Idle() != 0 {
		t.Error("the connection was kept")
	}
	response, err := upstream.RoundTrip(testRequest(t, "POST", endpoint.Address(), nil))
	if err != nil {
		t.Fatal(err)
	}
	(<-late.abort)()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "ok" {
		t.Errorf("%q, %v", body, err)
	}
	http1test.Discard(response.Body)
}

func TestEndedContextsConnectNowhere(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endpoint := http1test.NewEndpoint(t, http1test.Answering(""))
	_, err := testUpstream(t, endpoint.Address(), nil).RoundTrip(testRequest(t, "GET", endpoint.Address(),
		nil).WithContext(ctx))
	if !errors.Is(err, context.Canceled) || endpoint.Accepted() != 0 {
		t.Errorf("%v after %d connections", err, endpoint.Accepted())
	}
}

// TestClosingWhileReading closes a body while another goroutine reads it.
func TestClosingWhileReading(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn.Head()
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
		_, _ = io.Copy(io.Discard, conn.R)
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	response, err := upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))
	if err != nil {
		t.Fatal(err)
	}
	var p [3]byte
	if _, err := io.ReadFull(response.Body, p[:]); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		_, err := response.Body.Read(p[:])
		read <- err
	}()
	_ = response.Body.Close()
	if err := http1test.Receive(t, read, "the end of Read"); err == nil {
		t.Error("Read had a result")
	}
}

func TestResponseHeaderTimeout(t *testing.T) {
	for _, streams := range []bool{false, true} {
		endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
			conn.Say("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 2")
			_, _ = io.Copy(io.Discard, conn.R)
		})
		upstream := testUpstream(t, endpoint.Address(), func(config *client.Config) {
			config.ResponseHeaderTimeout = 20 * time.Millisecond
		})
		r := testRequest(t, "POST", endpoint.Address(), strings.NewReader("x"))
		if streams {
			r.Body, r.GetBody = streamed(r.Body), nil
		}
		_, err := upstream.RoundTrip(r)
		timeout, ok := errors.AsType[net.Error](err)
		if !ok || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestResponseHeaderTimeoutIsOverWithTheHead: the body may take longer.
func TestResponseHeaderTimeoutIsOverWithTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		upstream := pipeUpstream(client.Config{ResponseHeaderTimeout: time.Second}, func(far net.Conn) {
			conn := http1test.NewConn(far)
			conn.Head()
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			<-time.After(time.Minute) //nolint:forbidigo // a clock that costs no time
			conn.Say("hello")
		})
		if got := take(upstream.RoundTrip(testRequest(t, "GET", "a.example", nil))); got.Body != "hello" {
			t.Errorf("the answer is %+v", got)
		}
		upstream.CloseIdleConnections()
	})
}

// TestIdleConnectionsTimeOut reads from the far ends, without another request.
func TestIdleConnectionsTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan *http1test.Conn)
		upstream := pipeUpstream(client.Config{IdleTimeout: time.Minute, MaxAge: 2 * time.Minute}, func(far net.Conn) {
			conn := http1test.NewConn(far)
			conn.Head()
			begun <- conn
		})
		request := func() *http1test.Conn {
			go func() { take(upstream.RoundTrip(testRequest(t, "GET", "a.example", nil))) }()
			return <-begun
		}
		answer := func(conn *http1test.Conn) { conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
		expectEnd := func(conn net.Conn, after time.Duration) {
			t.Helper()
			start := time.Now()
			var p [1]byte
			if _, err := conn.Read(p[:]); !errors.Is(err, io.EOF) || time.Since(start).Round(time.Second) != after {
				t.Errorf("%v after %v, want the end after %v", err, time.Since(start), after)
			}
		}
		first, second, third := request(), request(), request()
		answer(first)
		<-time.After(40 * time.Second) //nolint:forbidigo // a clock that costs no time
		answer(second)
		expectEnd(first, 20*time.Second)
		expectEnd(second, 40*time.Second)
		if upstream.Idle() != 0 {
			t.Error("something is still there")
		}
		// Too old to be kept.
		<-time.After(20 * time.Second) //nolint:forbidigo // a clock that costs no time
		answer(third)
		expectEnd(third, 0)
	})
}

// TestTrace reports to httptrace what net/http's Transport reports.
func TestTrace(t *testing.T) {
	var body atomic.Pointer[closeCounter]
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		for {
			head := conn.Head()
			if head == "" {
				return
			}
			conn.Say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
			conn.Body(head)
			body.Load().await(t)
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	for round, want := range [][]string{
		{"fresh", "first byte", "100", "1xx 100", "wrote", "1xx 103"},
		{"reused", "first byte", "100", "1xx 100", "wrote", "1xx 103"},
	} {
		var mutex sync.Mutex
		got := map[string]bool{}
		note := func(what string) {
			mutex.Lock()
			defer mutex.Unlock()
			got[what] = true
		}
		trace := &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) {
				if info.Reused {
					note("reused")
				} else {
					note("fresh")
				}
			},
			GotFirstResponseByte: func() { note("first byte") },
			Got100Continue:       func() { note("100") },
			WroteRequest:         func(httptrace.WroteRequestInfo) { note("wrote") },
			Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
				note("1xx " + strconv.Itoa(code))
				if code == http.StatusEarlyHints && header.Get("Link") != "x" {
					t.Errorf("the header is %v", header)
				}
				return nil
			},
		}
		body.Store(&closeCounter{Reader: strings.NewReader("hello")})
		r := testRequest(t, "POST", endpoint.Address(), body.Load())
		r.ContentLength = 5
		r.Header.Set("Expect", "100-continue")
		if answer := take(upstream.RoundTrip(r.WithContext(httptrace.WithClientTrace(t.Context(), trace)))); answer.Failed {
			t.Fatal("it failed")
		}
		wanted := map[string]bool{}
		for _, what := range want {
			wanted[what] = true
		}
		mutex.Lock()
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("round %d: %s", round, diff)
		}
		mutex.Unlock()
	}
}

// TestInformationalErrors end the exchange.
func TestInformationalErrors(t *testing.T) {
	enough := errors.New("enough")
	endpoint := http1test.NewEndpoint(t,
		http1test.Answering("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	upstream := testUpstream(t, endpoint.Address(), nil)
	call := client.RoundTrip{Options: client.Options{Informational: func(int, http.Header) error { return enough }}}
	_, err := upstream.Do(&call, testRequest(t, "GET", endpoint.Address(), nil))
	if !errors.Is(err, enough) || upstream.Idle() != 0 {
		t.Errorf("%v, and %d connections are kept", err, upstream.Idle())
	}
	_, err = upstream.Do(&call, testRequest(t, "GET", endpoint.Address(), nil))
	if !errors.Is(err, client.ErrRoundTripUsed) {
		t.Errorf("a call that was used: %v", err)
	}
}
