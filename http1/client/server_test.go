package client

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/internal/afterfunc"
	"github.com/sluiceproxy/sluice/http1/server"
)

// TestServerToUpstream sends the bodies that clients of a Server send to an Upstream.
func TestServerToUpstream(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 64<<10)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		for {
			head := conn.Head()
			if head == "" {
				return
			}
			body := conn.Body(head)
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
		}
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	front := &server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := context.WithValue(r.Context(), new(int), 1).Value(afterfunc.Key{}).(afterFuncer); !ok {
			t.Error("the context does not lead to its AfterFunc")
		}
		out := r.Clone(r.Context())
		out.URL.Host = "a.example"
		var call RoundTrip
		response, err := upstream.Do(&call, out)
		if err != nil {
			t.Error(err)
			panic(http.ErrAbortHandler)
		}
		defer http1test.Discard(response.Body)
		w.Header().Set("Content-Length", response.Header.Get("Content-Length"))
		if _, err := io.Copy(w, response.Body); err != nil {
			t.Error(err)
		}
	})}
	address := serveFront(t, front)
	client := &http.Transport{}
	t.Cleanup(client.CloseIdleConnections)
	for _, size := range []int{1, 4000, 16 << 10, 40_000, len(large)} {
		for _, length := range []int64{int64(size), -1} {
			r := testRequest(t, "POST", address, strings.NewReader(large[:size]))
			r.ContentLength = length
			got := take(client.RoundTrip(r))
			if body, _, _ := strings.Cut(got.Body, "|"); got.Failed || body != large[:size] {
				t.Errorf("%d bytes, length %d: failed: %v, %d bytes came back", size, length, got.Failed, len(body))
			}
		}
	}
}

// TestBodiesComeInPieces: what has come goes with the head, and the rest follows when it comes.
func TestBodiesComeInPieces(t *testing.T) {
	first, rest := make(chan string, 1), make(chan string, 1)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn.Head()
		var piece [5]byte
		_, _ = io.ReadFull(conn.R, piece[:])
		first <- string(piece[:])
		_, _ = io.ReadFull(conn.R, piece[:])
		rest <- string(piece[:])
		conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	front := &server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.URL.Host = "a.example"
		response, err := upstream.Do(new(RoundTrip), out)
		if err != nil {
			t.Error(err)
			return
		}
		http1test.Discard(response.Body)
		w.WriteHeader(response.StatusCode)
	})}
	near, err := new(net.Dialer).DialContext(t.Context(), "tcp", serveFront(t, front))
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(near)
	_, _ = io.WriteString(near, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
	if got := http1test.Receive(t, first, "what had come"); got != "hello" {
		t.Errorf("%q came first", got)
	}
	_, _ = io.WriteString(near, "world")
	if got := http1test.Receive(t, rest, "the rest"); got != "world" {
		t.Errorf("%q came then", got)
	}
	response, err := http.ReadResponse(bufio.NewReader(near), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(response.Body)
	if response.StatusCode != http.StatusOK {
		t.Errorf("the status is %d", response.StatusCode)
	}
}

// serveFront serves until the end of the test and returns the address.
func serveFront(t *testing.T, front *server.Server) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { front.ServeConn(context.Background(), conn) })
		}
	})
	t.Cleanup(func() {
		http1test.Discard(listener)
		_ = front.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}
