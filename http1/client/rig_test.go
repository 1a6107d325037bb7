package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/client"
)

// dialing returns a configuration that dials an address.
func dialing(address string) *client.Config {
	return &client.Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		},
		ContinueTimeout: time.Second,
	}
}

// testUpstream returns an upstream to an address, with poisoned buffers and all of its connections closed at the end.
func testUpstream(t testing.TB, address string, change func(*client.Config)) *client.Upstream {
	t.Helper()
	config := dialing(address)
	if change != nil {
		change(config)
	}
	resources := new(client.Resources)
	client.Poison(resources)
	upstream := resources.NewUpstream(config)
	t.Cleanup(upstream.CloseIdleConnections)
	return upstream
}

// dialled changes each connection that is dialled.
func dialled(change func(net.Conn) error) func(*client.Config) {
	return func(config *client.Config) {
		dial := config.Dial
		config.Dial = func(ctx context.Context) (net.Conn, error) {
			conn, err := dial(ctx)
			if err == nil {
				err = change(conn)
			}
			return conn, err
		}
	}
}

// pipeUpstream returns an upstream over connections in memory, of which the other ends are played.
func pipeUpstream(config client.Config, play func(net.Conn)) *client.Upstream {
	config.Dial = func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		go play(far)
		return near, nil
	}
	return new(client.Resources).NewUpstream(&config)
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
