package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// TestServerHalfClosedRequest closes the client's side behind a request: the context lasts until the body has been
// handed over, as with net/http.
func TestServerHalfClosedRequest(t *testing.T) {
	t.Parallel()
	type seen struct {
		before, err error
		body        string
	}
	for _, test := range []struct {
		name, sent string
		before     error
		body       string
		err        error
	}{
		{"length", post("Content-Length: 4") + "body", nil, "body", nil},
		{"chunks", post("Transfer-Encoding: chunked") + "4\r\nbody\r\n0\r\n\r\n", nil, "body", nil},
		{"cut", post("Content-Length: 4") + "bo", nil, "bo", io.ErrUnexpectedEOF},
		{"no body", get, context.Canceled, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			closed, handed := make(chan struct{}), make(chan seen, 1)
			g := serve(t, func(_ http.ResponseWriter, r *http.Request) {
				<-closed
				before := r.Context().Err()
				body, err := io.ReadAll(r.Body)
				http1test.Receive(t, r.Context().Done(), "the end of the context")
				handed <- seen{before, err, string(body)}
			})
			conn, _ := g.Open(test.sent)
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			http1test.Eventually(t, "the server notices the end", func() bool { return server.Left(g.server) == 1 })
			close(closed)
			got := http1test.Receive(t, handed, "the handler")
			if !errors.Is(got.before, test.before) || !errors.Is(got.err, test.err) || got.body != test.body {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestServerHalfClosedBeforeHandler has everything there before the handler runs.
func TestServerHalfClosedBeforeHandler(t *testing.T) {
	t.Parallel()
	begun, handed := make(chan struct{}), make(chan error, 1)
	g := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			close(begun)
			<-r.Context().Done()
			return
		}
		handed <- r.Context().Err()
		_, err := io.ReadAll(r.Body)
		handed <- err
		handed <- r.Context().Err()
	})
	conn, _ := g.Open(get + post("Content-Length: 4") + "body")
	http1test.Receive(t, begun, "the first request")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, nil, context.Canceled} {
		if err := http1test.Receive(t, handed, "the second request"); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
}
