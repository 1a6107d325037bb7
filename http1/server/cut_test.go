package server_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/httpio"
)

// TestServerPartOfUntilClose breaks off responses that end with the connection, as responses of HTTP/1.0
// without a length do.
func TestServerPartOfUntilClose(t *testing.T) {
	t.Parallel()
	for what, handler := range map[string]http.HandlerFunc{
		"handler gives up": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"write fails": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
			_, _ = w.Write(make([]byte, 64<<20))
		},
		"write left behind": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			// It is more than the client's memory takes, so that it is under way until it is interrupted.
			go func() { _, _ = w.Write(make([]byte, 64<<20)) }()
			http1test.Eventually(t, "the write is under way", func() bool { return server.Writing(w) })
		},
	} {
		for name, layer := range layers(t) {
			t.Run(what+" "+name, func(t *testing.T) {
				t.Parallel()
				handled := make(chan struct{})
				g, dial := layer(&server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(handled)
					handler(w, r)
				})})
				conn := dial()
				say(t, conn, "GET / HTTP/1.0\r\n\r\n")
				http1test.Receive(t, handled, "the handler")
				g.UntilClosed()
				if got, err := io.ReadAll(conn); err == nil {
					t.Errorf("a part of %d bytes was taken for the whole", len(got))
				}
			})
		}
	}
}

// TestServerResetConn has handlers reset the connection, or think better of it.
func TestServerResetConn(t *testing.T) {
	t.Parallel()
	for name, layer := range layers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, dial := layer(&server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/cut" {
					httpio.ResetConn(w)
				}
				if r.URL.Path != "/answer" {
					panic(http.ErrAbortHandler)
				}
			})})
			const plain = " HTTP/1.1\r\nHost: a\r\n\r\n"
			for sent, reset := range map[string]bool{
				"GET /" + plain: true, "HEAD /" + plain: true, "GET / HTTP/1.0\r\n\r\n": true,
				"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n":                        true,
				"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n": true,
				"GET /cut" + plain: false,
			} {
				conn := dial()
				reader := bufio.NewReader(conn)
				say(t, conn, "GET /answer"+plain)
				if response, _ := answer(t, reader); response.StatusCode != http.StatusOK {
					t.Errorf("got %d", response.StatusCode)
				}
				say(t, conn, sent)
				if got, err := io.ReadAll(reader); errors.Is(err, syscall.ECONNRESET) != reset || len(got) > 0 {
					t.Errorf("%q: got %q, %v", sent, got, err)
				}
			}
			g.UntilClosed()
		})
	}
}
