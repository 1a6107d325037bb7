package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// layers are what HTTP/1.1 lies on: how the server's end of a connection is made, and the client's.
func layers(t testing.TB) map[string]func(*server.Server) (*rig, func() net.Conn) {
	t.Helper()
	config := &tls.Config{Certificates: testCertificate(t), MinVersion: tls.VersionTLS12}
	return map[string]func(*server.Server) (*rig, func() net.Conn){
		"plain": func(server *server.Server) (*rig, func() net.Conn) {
			g := newRig(t, server, nil)
			return g, g.Dial
		},
		"TLS": func(server *server.Server) (*rig, func() net.Conn) {
			g := newRig(t, server, func(conn net.Conn) net.Conn {
				secure := tls.Server(conn, config)
				if err := secure.HandshakeContext(context.Background()); err != nil {
					t.Error(err)
				}
				return secure
			})
			return g, func() net.Conn {
				return tls.Client(g.Dial(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test's
			}
		},
	}
}

// untilPending waits until the server's only connection has something to read.
func (g *rig) untilPending(t testing.TB) {
	t.Helper()
	http1test.Eventually(t, "the next request is there", func() bool { return server.Pending(g.server) == 1 })
}

// TestServerLastAnswer ends a connection while the next request is there already, before the client has read the last
// answer.
func TestServerLastAnswer(t *testing.T) {
	t.Parallel()
	for name, layer := range layers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrote, release := make(chan struct{}), make(chan struct{})
			g, dial := layer(&server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close")
				w.Header().Set("Content-Length", strconv.Itoa(large))
				_, _ = io.WriteString(w, strings.Repeat("x", large))
				close(wrote)
				<-release
			})})
			conn := dial()
			say(t, conn, get)
			http1test.Receive(t, wrote, "the answer")
			say(t, conn, get)
			g.untilPending(t)
			close(release)
			g.UntilClosed()
			if _, body := answer(t, bufio.NewReader(conn)); len(body) != large {
				t.Errorf("got %d bytes", len(body))
			}
		})
	}
}

// TestServerDrainsBehindAnswer begins to drain when the response has announced that the connection stays, and the
// client may have sent its next request.
func TestServerDrainsBehindAnswer(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"", get} {
		for name, layer := range layers(t) {
			t.Run(name+" "+strconv.Itoa(len(next)), func(t *testing.T) {
				t.Parallel()
				release := make(chan struct{})
				g, dial := layer(&server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Length", "5")
					_, _ = io.WriteString(w, "hello")
					_ = http.NewResponseController(w).Flush()
					<-release
				})})
				conn := dial()
				say(t, conn, get)
				reader := bufio.NewReader(conn)
				if response, _ := answer(t, reader); response.Close {
					t.Error("the first answer is the last")
				}
				say(t, conn, next)
				if next != "" {
					g.untilPending(t)
				}
				over := make(chan error, 1)
				g.server.EndKeepAlives()
				go func() { over <- g.server.Shutdown(context.Background()) }()
				close(release)
				if next != "" {
					if response, body := answer(t, reader); !response.Close || body != "hello" {
						t.Errorf("the second answer is %+v, %q", response, body)
					}
				}
				if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
					t.Errorf("then %v", err)
				}
				if err := http1test.Receive(t, over, "the end of Shutdown"); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
