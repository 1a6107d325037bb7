package buffering_test

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

// TestDiscardedBodies demands that an endpoint can't keep a client waiting for a body that it sends slowly, or not
// at all, where the response is discarded or too large.
func TestDiscardedBodies(t *testing.T) {
	for name, test := range map[string]struct {
		head   string
		status int
	}{
		"discarded":               {"HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nhalf", 200},
		"discarded, without body": {"HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\n", 200},
		"too large":               {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", 500},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int64
			server := scripted(t, func(conn net.Conn, _ *http.Request) {
				if tries.Add(1) == 1 {
					_, _ = io.WriteString(conn, test.head)
					_, _ = io.Copy(io.Discard, conn)
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
			})
			step := newBuffering(t, dynamic.Buffering{RetryExpression: "ResponseCode() == 503", MaxResponseBodyBytes: 50})
			g := rig.New(t, rig.Setup{Wrap: step.Wrap, Server: server})
			response, _, err := g.Do("h1", g.Request(http.MethodGet, "/", nil))
			if err != nil || response.StatusCode != test.status {
				t.Errorf("got %+v, %v", response, err)
			}
			if record := g.Record(); record.Status != test.status {
				t.Errorf("recorded %d, %q", record.Status, record.Reason)
			}
		})
	}
}

// TestBrokenTryIsDiscarded has the record be that of the try which the client got.
func TestBrokenTryIsDiscarded(t *testing.T) {
	var tries atomic.Int64
	server := scripted(t, func(conn net.Conn, _ *http.Request) {
		text := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
		if tries.Add(1) == 1 {
			text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
		}
		_, _ = io.WriteString(conn, text)
	})
	step := newBuffering(t, dynamic.Buffering{RetryExpression: "IsNetworkError()"})
	g := rig.New(t, rig.Setup{Wrap: step.Wrap, Server: server})
	if response, body, err := g.Do("h1", g.Request(http.MethodGet, "/", nil)); err != nil || body != "ok" {
		t.Errorf("got %+v, %q, %v", response, body, err)
	}
	if record := g.Record(); record.Broken || record.Reason != "" || tries.Load() != 2 {
		t.Errorf("recorded %+v", record)
	}
}
