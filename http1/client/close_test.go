package client

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
)

// TestCloseEndsEverything closes an upstream with a connection of each kind: idle, waiting for a head, in the middle of
// a body, switched.
func TestCloseEndsEverything(t *testing.T) {
	waits := make(chan struct{}, 1)
	ended := make(chan struct{}, 4)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		conn.Head()
		switch number {
		case 1: // The first is idle, because the others need one at the same time.
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		case 2:
			conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		case 3:
			conn.Say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n")
		case 4:
			waits <- struct{}{}
		}
		_, _ = io.Copy(io.Discard, conn.R)
		ended <- struct{}{}
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	get := func() (*RoundTrip, io.ReadCloser, error) {
		call := new(RoundTrip)
		response, err := upstream.Do(call, testRequest(t, "GET", endpoint.Address(), nil))
		if err != nil {
			return call, nil, err
		}
		return call, response.Body, nil
	}
	first, err := upstream.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := first.fill(); err != nil {
		t.Fatal(err)
	}
	_, half, err := get()
	if err != nil {
		t.Fatal(err)
	}
	r := testRequest(t, "GET", endpoint.Address(), nil)
	r.Header.Set("Upgrade", "echo")
	switched, err := upstream.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, _, err := get()
		failed <- err
	}()
	http1test.Receive(t, waits, "the fourth request")
	first.recycle()
	upstream.put(first)
	if n := idleConns(upstream); n != 1 {
		t.Fatalf("%d connections are idle", n)
	}

	upstream.Close()
	for range 4 {
		http1test.Receive(t, ended, "the end of a connection")
	}
	if err := http1test.Receive(t, failed, "the fourth answer"); !errors.Is(err, errUpstreamClosed) {
		t.Errorf("who waits for a head is told %v", err)
	}
	if _, err := io.ReadAll(half); !errors.Is(err, errUpstreamClosed) {
		t.Errorf("who reads a body is told %v", err)
	}
	if _, err := io.ReadAll(switched.Body); err == nil {
		t.Error("a switched connection ends well")
	}
	_ = switched.Body.Close()
	if call, _, err := get(); !errors.Is(err, errUpstreamClosed) || call.Sent() {
		t.Errorf("a new request is told %v, sent: %v", err, call.Sent())
	}
	if upstream.conns != nil {
		t.Error("a connection is still listed")
	}
}

// TestInterruptMayDecline leaves a Read to somebody who needs what it will read.
func TestInterruptMayDecline(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) { conn.Head() })
	upstream := testUpstream(t, endpoint.Address(), nil)
	client, body := io.Pipe()
	call := RoundTrip{Interrupt: func() bool { return false }}
	r := testRequest(t, "POST", endpoint.Address(), client)
	if _, err := upstream.Do(&call, r); err == nil {
		t.Fatal("no error")
	}
	// The Read goes on, and takes what comes.
	if n, err := body.Write([]byte("more")); n != 4 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	http1test.Receive(t, call.upload.done, "the end of the upload")
}

// TestNobodyIsDialledAfterClose because an endpoint that has gone may let a dial wait for its whole time-out. A dial
// that is under way ends with the closed upstream.
func TestNobodyIsDialledAfterClose(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) { conn.Head() })
	dials := 0
	var upstream *Upstream
	upstream = testUpstream(t, endpoint.Address(), func(config *Config) {
		dial := config.Dial
		config.Dial = func(ctx context.Context) (net.Conn, error) {
			dials++
			upstream.Close()
			return dial(ctx)
		}
	})
	for range 2 {
		call := new(RoundTrip)
		if _, err := upstream.Do(call, testRequest(t, "GET", endpoint.Address(), nil)); !errors.Is(err, errUpstreamClosed) ||
			call.Sent() {
			t.Errorf("a request is told %v, sent: %v", err, call.Sent())
		}
	}
	if dials != 1 {
		t.Errorf("%d dials", dials)
	}
}
