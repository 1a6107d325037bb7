package forward_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestLargeHeads have no body behind them, and are more than is written to an endpoint of TLS at once.
func TestLargeHeads(t *testing.T) {
	const size = 9000
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := len(r.Header.Get("Cookie")); n != size {
				t.Errorf("a cookie of %d bytes came", n)
			}
			w.WriteHeader(code)
		})
	}
	t.Run("GET", func(t *testing.T) {
		g := newRig(t, setup{upstream: "h2", transport: &dynamic.ServersTransport{
			DisableHTTP2:       true,
			InsecureSkipVerify: true,
		}}, status(http.StatusOK))
		r := request(t, http.MethodGet, g.url, nil)
		r.Header.Set("Cookie", strings.Repeat("c", size))
		response, _ := g.do(t, r)
		equal(t, "status", response.StatusCode, http.StatusOK)
	})
	t.Run("upgrade", func(t *testing.T) {
		g := newRig(t, setup{upstream: "h2"}, status(http.StatusForbidden))
		_, reader := g.raw(t, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: "+
			strings.Repeat("c", size)+"\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "status", response.StatusCode, http.StatusForbidden)
	})
}

// TestEndpointDiesDuringUpload while the client is silent, which is not the client's fault.
func TestEndpointDiesDuringUpload(t *testing.T) {
	for _, front := range []string{"h1", "h2", "h2c"} {
		for name, length := range map[string]int64{"length": 1000, "chunks": -1} {
			t.Run(front+" "+name, func(t *testing.T) {
				g := newProxy(t, setup{front: front, server: scripted(t, says(""))})
				reader, writer := io.Pipe()
				defer writer.Close() //nolint:errcheck // a test's
				go func() { _, _ = io.WriteString(writer, "hello") }()
				r := request(t, http.MethodPost, g.url, reader)
				r.ContentLength = length
				response, err := g.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				equal(t, "status", response.StatusCode, http.StatusBadGateway)
				record := g.record(t)
				equal(t, "recorded", record.Status, http.StatusBadGateway)
				if record.Reason == "" || strings.Contains(record.Reason, "client") {
					t.Errorf("the reason is %q", record.Reason)
				}
			})
		}
	}
}
