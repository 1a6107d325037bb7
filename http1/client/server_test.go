package client_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/httpio/afterfunc"
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
		if _, ok := context.WithValue(r.Context(), new(int), 1).Value(afterfunc.Key{}).(interface {
			AfterFunc(f func()) (stop func() bool)
		}); !ok {
			t.Error("the context does not lead to its AfterFunc")
		}
		out := r.Clone(r.Context())
		out.URL.Host = "a.example"
		var call client.RoundTrip
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
	address := http1test.Serve(t, front, nil).Address
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	for _, size := range []int{1, 4000, 16 << 10, 40_000, len(large)} {
		for _, length := range []int64{int64(size), -1} {
			r := testRequest(t, "POST", address, strings.NewReader(large[:size]))
			r.ContentLength = length
			got := take(transport.RoundTrip(r))
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
		response, err := upstream.Do(new(client.RoundTrip), out)
		if err != nil {
			t.Error(err)
			return
		}
		http1test.Discard(response.Body)
		w.WriteHeader(response.StatusCode)
	})}
	near, reader := http1test.Serve(t, front, nil).Open("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
	if got := http1test.Receive(t, first, "what had come"); got != "hello" {
		t.Errorf("%q came first", got)
	}
	_, _ = io.WriteString(near, "world")
	if got := http1test.Receive(t, rest, "the rest"); got != "world" {
		t.Errorf("%q came then", got)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(response.Body)
	if response.StatusCode != http.StatusOK {
		t.Errorf("the status is %d", response.StatusCode)
	}
}
