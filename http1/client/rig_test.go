package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// testUpstream returns an upstream to an address, with poisoned buffers and all of its connections closed at the end.
func testUpstream(t testing.TB, address string, change func(*Config)) *Upstream {
	t.Helper()
	config := &Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		},
		ContinueTimeout: time.Second,
	}
	if change != nil {
		change(config)
	}
	client := &Resources{}
	client.buffers.poison = true
	upstream := client.NewUpstream(config)
	t.Cleanup(upstream.CloseIdleConnections)
	return upstream
}

func testRequest(t testing.TB, method, address string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+"/path?q=1", body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// streamed hides what a reader is, so that its body is not at hand.
func streamed(r io.Reader) io.ReadCloser { return io.NopCloser(struct{ io.Reader }{r}) }

// idleConns returns how many connections an upstream keeps.
func idleConns(u *Upstream) int {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return len(u.idle)
}
