package server_test

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

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

func refuse(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }

// TestServerEarlyRefusal refuses an upload of a client that looks for its answer when it can't send any more.
func TestServerEarlyRefusal(t *testing.T) {
	t.Parallel()
	g := serve(t, refuse)
	upload := func() error {
		conn, reader := g.Open(post("Content-Length: 1000000000"))
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

// TestServerReadsToTheEnd refuses an upload that is longer than what is read behind an answer, but has an end.
func TestServerReadsToTheEnd(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{}, 1)
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer func() { answered <- struct{}{} }()
		w.Header().Set("Content-Length", strconv.Itoa(large))
		_, _ = io.WriteString(w, strings.Repeat("x", large))
	})
	upload := func() (int64, error) {
		conn, reader := g.Open(post("Content-Length: 1000000000") + strings.Repeat("x", server.LingerBytes+12<<10))
		defer http1test.Discard(conn)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			return 0, err
		}
		http1test.Receive(t, answered, "the handler")
		g.UntilClosed()
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return 0, err
		}
		return io.Copy(io.Discard, response.Body)
	}
	var n int64
	var err error
	for range 5 { // Where the machine stands still for a while, the client may be too late.
		if n, err = upload(); err == nil {
			break
		}
	}
	if n != large || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
}

// TestServerHoldHasAnEnd leaves a client waiting that sends and sends.
func TestServerHoldHasAnEnd(t *testing.T) {
	t.Parallel()
	g := serve(t, refuse)
	conn := g.Dial()
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
