package entrypoint_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

// brokenWrites is a connection whose writes take a second, and fail after some bytes.
type brokenWrites struct {
	net.Conn
	left int
}

func (c *brokenWrites) Write(p []byte) (int, error) {
	<-time.NewTimer(time.Second).C
	n := min(c.left, len(p))
	c.left -= n
	if n, err := c.Conn.Write(p[:n]); err != nil {
		return n, err
	}
	if n < len(p) {
		return n, errors.New("broken")
	}
	return n, nil
}

// TestRecordsCoverTheLastWrite answers with what fits into one write, which is slow and may fail.
func TestRecordsCoverTheLastWrite(t *testing.T) {
	const body = "0123456789"
	for _, test := range []struct {
		name   string
		takes  int
		status int
		sent   int64
		code   telemetry.Code
	}{
		{"all", 1 << 20, http.StatusOK, 10, ""},
		{"nothing", 0, telemetry.StatusClientClosedRequest, 0, telemetry.CodeClientLeft},
		{"the head in part", 20, http.StatusOK, 0, telemetry.CodeClientLeft},
		{"all but three bytes", -3, http.StatusOK, 7, telemetry.CodeClientLeft},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
				s := startWith(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Date"] = nil
					_, _ = io.WriteString(w, body)
				}), nil, func(context.Context, string, string) (net.Listener, error) { return listener, nil })
				takes := test.takes
				if takes < 0 {
					takes += len("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + body)
				}
				ours, theirs := net.Pipe()
				listener.conns <- &brokenWrites{theirs, takes}
				read := make(chan string, 1)
				go func() {
					got, _ := io.ReadAll(ours)
					read <- string(got)
				}()
				say(t, ours, get)
				record := s.record()
				if record.Status != test.status || record.BytesSent != test.sent || record.Code != test.code ||
					record.Duration < time.Second {
					t.Errorf("status %d, %d bytes, code %q after %v", record.Status, record.BytesSent, record.Code, record.Duration)
				}
				_ = ours.Close()
				if got := <-read; test.code == "" && !strings.HasSuffix(got, body) {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

// TestAbortedResponsesCountWhatWasSent has handlers give up behind bytes that wait in the server's buffer.
func TestAbortedResponsesCountWhatWasSent(t *testing.T) {
	t.Parallel()
	const flushed = 10
	for _, protocol := range protocols() {
		for _, test := range []struct {
			name   string
			length string
			writes func(w http.ResponseWriter)
			sent   int64
			small  int64
		}{
			{"nothing more", "", func(http.ResponseWriter) {}, flushed, 0},
			{"a piece", "", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "more...") }, flushed, 7},
			{
				"a piece of a declared length", "20",
				func(w http.ResponseWriter) { _, _ = io.WriteString(w, "more...") },
				flushed, 7,
			},
			{"a large piece", "", func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 20_000)) }, flushed + 20_000, 0},
			{"a large piece and a small one", "", func(w http.ResponseWriter) {
				_, _ = w.Write(make([]byte, 20_000))
				_, _ = io.WriteString(w, "more...")
			}, flushed + 20_000, 7},
		} {
			t.Run(protocol+" "+test.name, func(t *testing.T) {
				t.Parallel()
				s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if test.length != "" {
						w.Header().Set("Content-Length", test.length)
					}
					_, _ = io.WriteString(w, strings.Repeat("x", flushed))
					_ = http.NewResponseController(w).Flush()
					test.writes(w)
					panic(http.ErrAbortHandler)
				}), nil)
				client, url := s.client(protocol)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
				if err != nil {
					t.Fatal(err)
				}
				if response, err := client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
				want := test.sent
				if protocol == "h3" {
					want += test.small // Behind a flush its server holds nothing back.
				}
				if record := s.record(); record.BytesSent != want {
					t.Errorf("%d bytes are recorded, want %d", record.BytesSent, want)
				}
			})
		}
	}
}
