package entrypoint_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

func packetConfig(change func(*static.EntryPoint)) *static.EntryPoint {
	config := &static.EntryPoint{}
	config.SetDefaults()
	config.Address = "127.0.0.1:0/udp"
	if change != nil {
		change(config)
	}
	return config
}

func newPackets(t *testing.T, config *static.EntryPoint, server entrypoint.PacketServer) *entrypoint.PacketEntrypoint {
	t.Helper()
	e, err := entrypoint.NewPackets("dns", config, server, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestNewPacketsRefuses(t *testing.T) {
	for _, address := range []string{":53", ":53/tcp", "53"} {
		_, err := entrypoint.NewPackets("dns", &static.EntryPoint{Address: address}, nil, nil)
		if err == nil || !strings.HasPrefix(err.Error(), `entrypoint "dns": address`) {
			t.Errorf("%s: got %v", address, err)
		}
	}
	if err := newPackets(t, packetConfig(nil), nil).Serve(t.Context()); err == nil {
		t.Error("an entrypoint that does not listen serves")
	}
}

// TestPacketEntrypoint serves datagrams on a port that the system has chosen, and gives the address up at the end.
func TestPacketEntrypoint(t *testing.T) {
	t.Parallel()
	server := &echo{ended: make(chan struct{})}
	e := newPackets(t, packetConfig(nil), server)
	if e.Addr() != nil || e.Name() != "dns" {
		t.Errorf("before Listen: %v, %q", e.Addr(), e.Name())
	}
	if err := e.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	address := e.Addr().String()
	for range 20 { // They reach all sockets.
		conn, err := new(net.Dialer).DialContext(t.Context(), "udp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(timeout))
		exchange(t, conn, "datagram", "datagram")
		_ = conn.Close()
	}
	cancel()
	if err := receive(t, served, "the end"); err != nil {
		t.Error(err)
	}
	free, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
}

// TestPacketAddressInUse keeps other sockets off the address, unless both have reusePort.
func TestPacketAddressInUse(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		if shared && runtime.GOOS != "linux" {
			continue
		}
		share := func(c *static.EntryPoint) { c.ReusePort = shared }
		first := newPackets(t, packetConfig(share), nil)
		if err := first.Listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := newPackets(t, packetConfig(func(c *static.EntryPoint) {
			share(c)
			c.Address = first.Addr().String() + "/udp"
		}), nil)
		if err := second.Listen(t.Context()); (err == nil) != shared {
			t.Errorf("reusePort %v: the second gets %v", shared, err)
		}
		for _, e := range []*entrypoint.PacketEntrypoint{first, second} {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// phases is a server that says when it is drained, and when it is cut.
type phases struct{ drained, cut time.Duration }

func (p *phases) ServePackets(ctx context.Context, sockets []net.PacketConn) error {
	begun := time.Now()
	<-ctx.Done()
	p.cut = time.Since(begun)
	for _, socket := range sockets {
		_ = socket.Close()
	}
	return nil
}

func (p *phases) Shutdown(ctx context.Context) error {
	begun := time.Now()
	<-ctx.Done()
	p.drained = time.Since(begun)
	return ctx.Err()
}

// failing is a server that cannot begin.
type failing struct{}

func (failing) ServePackets(_ context.Context, sockets []net.PacketConn) error {
	for _, socket := range sockets {
		_ = socket.Close()
	}
	return errors.New("no buffers")
}

func (failing) Shutdown(context.Context) error { return nil }

// TestPacketDraining goes on for requestAcceptGraceTimeout, drains for graceTimeOut, and cuts what is left.
func TestPacketDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &phases{}
		e := newPackets(t, packetConfig(func(c *static.EntryPoint) {
			c.Transport.LifeCycle.RequestAcceptGraceTimeout = static.Duration(2 * time.Second)
			c.Transport.LifeCycle.GraceTimeOut = static.Duration(5 * time.Second)
		}), server)
		if err := e.Listen(context.Background()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := e.Serve(ctx); err != nil {
			t.Error(err)
		}
		if server.drained != 5*time.Second || server.cut != 7*time.Second {
			t.Errorf("drained for %v, cut after %v", server.drained, server.cut)
		}
	})
}

func TestPacketServerThatFails(t *testing.T) {
	t.Parallel()
	e := newPackets(t, packetConfig(nil), failing{})
	if err := e.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Serve(t.Context()); err == nil || err.Error() != `entrypoint "dns": no buffers` {
		t.Errorf("got %v", err)
	}
}

// echo answers datagrams.
type echo struct{ ended chan struct{} }

func (e *echo) ServePackets(ctx context.Context, sockets []net.PacketConn) error {
	defer close(e.ended)
	var work sync.WaitGroup
	for _, conn := range sockets {
		work.Go(func() {
			buffer := make([]byte, 1500)
			for {
				n, from, err := conn.ReadFrom(buffer)
				if err != nil {
					return
				}
				_, _ = conn.WriteTo(buffer[:n], from)
			}
		})
	}
	<-ctx.Done()
	for _, conn := range sockets {
		_ = conn.Close()
	}
	work.Wait()
	return nil
}

func (e *echo) Shutdown(context.Context) error { return nil }
