//go:build unix && !race

package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/http1/client"
)

// cannedConn answers each write with the same bytes.
type cannedConn struct {
	net.Conn
	response string
	left     string
}

func (c *cannedConn) Write(p []byte) (int, error) {
	c.left = c.response
	return len(p), nil
}

func (c *cannedConn) Read(p []byte) (int, error) {
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *cannedConn) Close() error { return nil }

// TestExchangesAllocateLittle counts the allocations of an exchange with browser headers: the RoundTrip, the text of
// the head, and its map.
func TestExchangesAllocateLittle(t *testing.T) {
	upstream := (&client.Resources{}).NewUpstream(&client.Config{Dial: func(context.Context) (net.Conn, error) {
		return &cannedConn{response: benchResponse(true)}, nil
	}})
	r := testRequest(t, "GET", "a.example", nil)
	r = r.WithContext(context.Background())
	for name := range 15 {
		r.Header["X-"+string(rune('A'+name))] = []string{"value"}
	}
	got := testing.AllocsPerRun(1000, func() {
		var own struct {
			call client.RoundTrip
			room [20]string
		}
		own.call.Values = own.room[:]
		response, err := upstream.Do(&own.call, r)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
		}
		if err != nil || response.StatusCode != http.StatusOK {
			t.Error(err)
		}
	})
	const most = 6
	if got > most {
		t.Errorf("%v allocations, at most %d", got, most)
	}
}
