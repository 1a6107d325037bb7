package main

import (
	"errors"
	"net"
	"sync"
	"testing"
)

// inheritedOnce has the listener of a name.
type inheritedOnce struct {
	name     string
	listener net.Listener
}

// Listener returns the listener once.
func (i *inheritedOnce) Listener(name, _ string) (net.Listener, bool) {
	if name != i.name || i.listener == nil {
		return nil, false
	}
	listener := i.listener
	i.listener = nil
	return listener, true
}

// Packets returns none.
func (*inheritedOnce) Packets(string, string) ([]net.PacketConn, bool) { return nil, false }

// TestAuxiliaryParks leaves connections in the queue while the listener is parked.
func TestAuxiliaryParks(t *testing.T) {
	socket, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := auxiliaries{inherited: &inheritedOnce{name: "xds.address", listener: socket}}
	listener, err := all.listen(t.Context(), "xds.address", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if listener.Addr().String() != socket.Addr().String() {
		t.Errorf("it listens on %v, not on the inherited socket %v", listener.Addr(), socket.Addr())
	}
	accepted := make(chan error)
	var loop sync.WaitGroup
	loop.Go(func() {
		for {
			conn, err := listener.Accept()
			if err == nil {
				err = conn.Close()
			}
			accepted <- err
			if errors.Is(err, net.ErrClosed) {
				return
			}
		}
	})
	connect := func() {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", socket.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	for _, one := range all.all() {
		for range 2 {
			connect()
			if err := <-accepted; err != nil {
				t.Fatal(err)
			}
			if err := one.Park(t.Context()); err != nil {
				t.Fatal(err)
			}
			connect()
			select {
			case err := <-accepted:
				t.Fatalf("a connection is accepted: %v", err)
			default:
			}
			one.Unpark()
			if err := <-accepted; err != nil {
				t.Fatal(err)
			}
		}
		if err := one.Park(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	loop.Wait()
	if left := len(all.all()); left > 0 {
		t.Errorf("%d listeners are left", left)
	}
}
