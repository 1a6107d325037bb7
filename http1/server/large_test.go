package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/server"
)

// flood is a connection on which a head comes, and then as many bytes as are read, without delay.
type flood struct {
	net.Conn
	head     *strings.Reader
	deadline atomic.Pointer[time.Time]
}

func (f *flood) Read(p []byte) (int, error) {
	if by := f.deadline.Load(); by != nil && !by.IsZero() && time.Now().After(*by) {
		return 0, os.ErrDeadlineExceeded
	}
	if f.head.Len() > 0 {
		return f.head.Read(p)
	}
	return len(p), nil
}

func (f *flood) Write(p []byte) (int, error) { return len(p), nil }

func (f *flood) SetReadDeadline(t time.Time) error {
	f.deadline.Store(&t)
	return nil
}

// TestServerLargeBody reads a body of which the bytes, in nanoseconds per second, are more than an int64 holds.
func TestServerLargeBody(t *testing.T) {
	t.Parallel()
	const length = 10_000_000_000
	client, conn := net.Pipe()
	defer client.Close() //nolint:errcheck // a test's
	var got int64
	var failure error
	server := &server.Server{MinRate: 240, ReadTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			buffer := make([]byte, 8<<20)
			for failure == nil {
				var n int
				n, failure = r.Body.Read(buffer)
				got += int64(n)
			}
		})}
	head := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000000\r\n\r\n"
	server.ServeConn(context.Background(), &flood{Conn: conn, head: strings.NewReader(head)})
	if got != length || failure != io.EOF {
		t.Errorf("%d of %d bytes: %v", got, int64(length), failure)
	}
}
