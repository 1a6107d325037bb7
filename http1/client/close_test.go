package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// TestCloseEndsEverything closes an upstream with a connection of each kind: idle, waiting for a head, in the middle of
// a body, switched.
func TestCloseEndsEverything(t *testing.T) {
	waits, free := make(chan struct{}, 2), make(chan struct{})
	ended := make(chan struct{}, 4)
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		conn.Head()
		switch number {
		case 1: // The first becomes idle last, so that the others don't use it.
			waits <- struct{}{}
			<-free
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
	get := func() (*client.RoundTrip, io.ReadCloser, error) {
		call := new(client.RoundTrip)
		response, err := upstream.Do(call, testRequest(t, "GET", endpoint.Address(), nil))
		if err != nil {
			return call, nil, err
		}
		return call, response.Body, nil
	}
	first := make(chan outcomeOf)
	go func() { first <- take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil))) }()
	http1test.Receive(t, waits, "the first request")
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
	close(free)
	http1test.Receive(t, first, "the first answer")
	if n := upstream.Idle(); n != 1 {
		t.Fatalf("%d connections are idle", n)
	}

	upstream.Close()
	for range 4 {
		http1test.Receive(t, ended, "the end of a connection")
	}
	if err := http1test.Receive(t, failed, "the fourth answer"); !errors.Is(err, client.ErrUpstreamClosed) {
		t.Errorf("waiting for a head: %v", err)
	}
	if _, err := io.ReadAll(half); !errors.Is(err, client.ErrUpstreamClosed) {
		t.Errorf("reading a body: %v", err)
	}
	if _, err := io.ReadAll(switched.Body); err == nil {
		t.Error("a switched connection ends well")
	}
	_ = switched.Body.Close()
	if call, _, err := get(); !errors.Is(err, client.ErrUpstreamClosed) || call.Sent() {
		t.Errorf("a new request: %v, sent: %v", err, call.Sent())
	}
	if client.Listed(upstream) {
		t.Error("a connection is still listed")
	}
}

// TestInterruptMayDecline leaves a Read under way whose result another reader needs.
func TestInterruptMayDecline(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) { conn.Head() })
	upstream := testUpstream(t, endpoint.Address(), nil)
	source, body := io.Pipe()
	call := client.RoundTrip{Options: client.Options{Interrupt: func() bool { return false }}}
	r := testRequest(t, "POST", endpoint.Address(), source)
	if _, err := upstream.Do(&call, r); err == nil {
		t.Fatal("no error")
	}
	// The Read goes on, and takes what comes.
	if n, err := body.Write([]byte("more")); n != 4 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := body.Write([]byte("end")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the upload goes on: %v", err)
	}
}

// TestNoDialAfterClose because an endpoint that has gone may let a dial wait for its whole time-out. A dial that is
// under way ends with the closed upstream.
func TestNoDialAfterClose(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) { conn.Head() })
	dials := 0
	var upstream *client.Upstream
	upstream = testUpstream(t, endpoint.Address(), func(config *client.Config) {
		dial := config.Dial
		config.Dial = func(ctx context.Context) (net.Conn, error) {
			dials++
			upstream.Close()
			return dial(ctx)
		}
	})
	for range 2 {
		call := new(client.RoundTrip)
		_, err := upstream.Do(call, testRequest(t, "GET", endpoint.Address(), nil))
		if !errors.Is(err, client.ErrUpstreamClosed) || call.Sent() {
			t.Errorf("a request: %v, sent: %v", err, call.Sent())
		}
	}
	if dials != 1 {
		t.Errorf("%d dials", dials)
	}
}
