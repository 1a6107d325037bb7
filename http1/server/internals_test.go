package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// TestServerHoldEnds has a connection wait for an hour behind its answer.
func TestServerHoldEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *Server, c *serverConn){
		"when the client has sent its last": func(_ *Server, c *serverConn) { c.silent() },
		"when the client has gone":          func(_ *Server, c *serverConn) { c.gone() },
		"with the server":                   func(s *Server, _ *serverConn) { _ = s.Close() },
		"before it begins":                  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, conn := net.Pipe()
			defer http1test.Discard(client)
			s := &Server{}
			c := newServerConn(t.Context(), s, conn)
			if !s.add(c) {
				t.Fatal("the connection was refused")
			}
			if end == nil {
				c.silent()
			}
			held := make(chan bool, 1)
			go func() { held <- c.hold(time.Now().Add(time.Hour)) }()
			if end != nil {
				http1test.Eventually(t, "the connection is held", func() bool { return c.current.Load() != nil })
				end(s, c)
			}
			if !http1test.Receive(t, held, "the end of the wait") {
				t.Error("the time was up")
			}
		})
	}
}

// unwatchable is a connection whose descriptor the system does not watch.
type unwatchable struct{ net.Conn }

// SyscallConn returns a descriptor that is closed.
func (unwatchable) SyscallConn() (syscall.RawConn, error) { return closedDescriptor{}, nil }

type closedDescriptor struct{}

func (closedDescriptor) Control(func(fd uintptr)) error           { return net.ErrClosed }
func (closedDescriptor) Read(func(fd uintptr) (done bool)) error  { return net.ErrClosed }
func (closedDescriptor) Write(func(fd uintptr) (done bool)) error { return net.ErrClosed }

// TestServerHoldsUnwatched has a connection wait behind its answer that was not watched before and can't be: no request
// is there, or one has been answered, for which nothing is read ahead.
func TestServerHoldsUnwatched(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{false, true} {
		client, conn := net.Pipe()
		defer http1test.Discard(client)
		c := newServerConn(t.Context(), &Server{}, unwatchable{conn})
		if answered {
			x := &exchange{conn: c}
			x.context = &requestContext{conn: c, exchange: x}
			x.body.ended.Store(true)
			c.current.Store(x.context)
		}
		if c.hold(time.Now()) {
			t.Error("the client has said nothing")
		}
		if c.ahead.wanted {
			t.Error("a byte is read ahead")
		}
	}
}

// TestServerSparesPendingRequest ends idle connections while an unread request is pending.
func TestServerSparesPendingRequest(t *testing.T) {
	t.Parallel()
	accepted := make(chan net.Conn, 1)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		accepted <- conn.Conn
		_, _ = conn.R.ReadByte()
	})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", endpoint.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(conn)
	c := newServerConn(t.Context(), &Server{}, conn)
	c.state.Store(connIdle)
	_, _ = io.WriteString(http1test.Receive(t, accepted, "the connection"), request)
	http1test.Eventually(t, "the request is there", c.pending)
	if c.closeIdle(); c.state.Load() != connIdle {
		t.Error("the connection was closed on a request")
	}
	if _, err := io.ReadFull(conn, make([]byte, len(request))); err != nil {
		t.Error(err)
	}
	if c.closeIdle(); c.state.Load() != connClosed {
		t.Error("the connection stays")
	}
}

// numbers has one number as the value of every key.
type numbers int

func (n numbers) Value(any) any { return int(n) }

func (n numbers) Completed(serving.Completion) {}

// TestServerContextOutlivesRecycling keeps contexts while their exchanges serve other requests.
func TestServerContextOutlivesRecycling(t *testing.T) {
	t.Parallel()
	type key struct{}
	type kept struct {
		context.Context
		exchange *exchange
	}
	var all []kept
	reused := false
	// It has no descriptor, so that a byte is read ahead to see the end; and no poison, so that exchanges are used again.
	client, conn := net.Pipe()
	defer http1test.Discard(client)
	server := &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, x := len(all), w.(*exchange)
		values := serving.RequestState(numbers(number))
		x.Attach(&values)
		own := r.Context()
		called := make(chan struct{})
		context.AfterFunc(own, func() { close(called) })
		for _, old := range all {
			reused = reused || old.exchange == x
			if !errors.Is(old.Err(), context.Canceled) || old.Value(key{}) != nil {
				t.Errorf("request %d: an old context has ended with %v and has the value %v", number, old.Err(), old.Value(key{}))
			}
			<-old.Done()
			old.Context.(*requestContext).Cancel()
			old.Context.(*requestContext).bodyOver()
			over := make(chan struct{})
			context.AfterFunc(old, func() { close(over) })
			http1test.Receive(t, over, "a call after the end")
		}
		select {
		case <-called:
			t.Errorf("request %d was ended", number)
		default:
		}
		if own.Err() != nil || own.Value(key{}) != number {
			t.Errorf("request %d: %v, %v", number, own.Err(), own.Value(key{}))
		}
		all = append(all, kept{own, x})
		x.Recycle()
		if own.Value(key{}) != nil {
			t.Errorf("request %d has values that were given back", number)
		}
		_, _ = fmt.Fprint(w, number)
	})}
	over := make(chan struct{})
	go func() {
		server.ServeConn(context.Background(), conn)
		close(over)
	}()
	reader := bufio.NewReader(client)
	for i := range 50 {
		_, _ = io.WriteString(client, request)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != fmt.Sprint(i) {
			t.Errorf("request %d got %q, %v", i, body, err)
		}
	}
	http1test.Discard(client)
	http1test.Receive(t, over, "the end")
	if !reused {
		t.Error("no exchange was used again")
	}
}

// TestServerKeepsNoLargeMap looks at what an exchange keeps of a flood of fields.
func TestServerKeepsNoLargeMap(t *testing.T) {
	t.Parallel()
	flood := func(n int) http.Header {
		header := http.Header{}
		for i := range n {
			header[fmt.Sprint("X-", i)] = []string{"x"}
		}
		return header
	}
	for n, keeps := range map[int]bool{1: true, keptFields: true, keptFields + 1: false, 10 * keptFields: false} {
		var pool pools
		for _, fields := range []int{n, 1} {
			x := &exchange{fields: flood(fields), response: response{header: flood(n + 1 - fields)}}
			pool.putExchange(x)
			if len(x.fields) > 0 || len(x.response.header) > 0 {
				t.Errorf("%d fields: something is left", n)
			}
			if large := x.fields; fields == n && (large != nil) != keeps {
				t.Errorf("the header of a request with %d fields is kept: %v", n, large != nil)
			}
			if large := x.response.header; fields == 1 && (large != nil) != keeps {
				t.Errorf("the header of a response with %d fields is kept: %v", n, large != nil)
			}
		}
	}
}

func TestServerMinRate(t *testing.T) {
	t.Parallel()
	meter := rateMeter{bytes: 1000, waited: 7 * time.Second}
	if got := meter.allowance(100); got != 8*time.Second {
		t.Errorf("after 1000 bytes in 7 s at 100 bytes a second, the client has %v", got)
	}
	meter.waited = 16 * time.Second
	if got := meter.allowance(100); got >= 0 {
		t.Errorf("after 1000 bytes in 16 s at 100 bytes a second, the client has %v", got)
	}
}
