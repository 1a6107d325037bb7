package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/internal/http1test"
)

func refuse(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }

// TestServerEarlyRefusal refuses an upload of a client that looks for its answer when it can't send any more.
func TestServerEarlyRefusal(t *testing.T) {
	t.Parallel()
	g := serve(t, refuse)
	upload := func() error {
		conn, reader := g.open(post("Content-Length: 1000000000"))
		_ = conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		chunk := make([]byte, 1<<20)
		for {
			if _, err := conn.Write(chunk); errors.Is(err, os.ErrDeadlineExceeded) {
				break
			} else if err != nil {
				return err
			}
		}
		response, err := http.ReadResponse(reader, nil)
		if err == nil && response.StatusCode != http.StatusUnauthorized {
			t.Errorf("status %d", response.StatusCode)
		}
		return err
	}
	var err error
	for range 5 { // Where the machine stands still for a while, the client may be too late.
		if err = upload(); err == nil {
			return
		}
	}
	t.Errorf("no refusal has arrived: %v", err)
}

// large is an answer that fits into the memory of a connection, but not at once into what its client takes without
// reading.
const large = 512 << 10

// untilClosed waits until the server has closed all of its connections.
func (g *rig) untilClosed(t testing.TB) {
	t.Helper()
	http1test.Eventually(t, "the server closes", func() bool {
		g.server.mutex.Lock()
		defer g.server.mutex.Unlock()
		return len(g.server.conns) == 0
	})
}

// TestServerReadsToTheEnd refuses an upload that is longer than what is read behind an answer, but has an end.
func TestServerReadsToTheEnd(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{})
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(answered)
		w.Header().Set("Content-Length", strconv.Itoa(large))
		_, _ = io.WriteString(w, strings.Repeat("x", large))
	})
	conn, reader := g.open(post("Content-Length: 1000000000") + strings.Repeat("x", lingerBytes+12<<10))
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	http1test.Receive(t, answered, "the handler")
	g.untilClosed(t)
	if _, body := answer(t, reader); len(body) != large {
		t.Errorf("got %d bytes", len(body))
	}
}

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

// TestServerHoldHasAnEnd leaves a client waiting that sends and sends.
func TestServerHoldHasAnEnd(t *testing.T) {
	t.Parallel()
	g := serve(t, refuse)
	conn := g.dial()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(conn, io.MultiReader(strings.NewReader(post("Transfer-Encoding: chunked")+"fffffff\r\n"),
			endless{}))
		sent <- err
	}()
	answer(t, bufio.NewReader(conn))
	if err := http1test.Receive(t, sent, "the end of the upload"); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the upload ended with %v", err)
	}
}

// endless has no end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
