package entrypoint_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// inherited has sockets of one entrypoint; what was asked for is in asked.
type inherited struct {
	listener net.Listener
	packets  []net.PacketConn
	asked    []string
}

func (i *inherited) Listener(name, address string) (net.Listener, bool) {
	i.asked = append(i.asked, "tcp "+name+" "+address)
	return i.listener, i.listener != nil
}

func (i *inherited) Packets(name, address string) ([]net.PacketConn, bool) {
	i.asked = append(i.asked, "udp "+name+" "+address)
	return i.packets, len(i.packets) > 0
}

// bindUDP returns sockets of UDP, which are closed at the end of the test.
func bindUDP(t *testing.T, number int) []net.PacketConn {
	t.Helper()
	var sockets []net.PacketConn
	for range number {
		socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = socket.Close() })
		sockets = append(sockets, socket)
	}
	return sockets
}

// bindTCP returns a listening socket of TCP, which is closed at the end of the test.
func bindTCP(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// TestInherited serves HTTP/1.1 and HTTP/3 on sockets that were bound before, and new ones where there are none.
func TestInherited(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]*inherited{
		"both": {listener: bindTCP(t), packets: bindUDP(t, 1)},
		"TCP":  {listener: bindTCP(t)},
		"UDP":  {packets: bindUDP(t, 1)},
		"none": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startDeps(t, http.HandlerFunc(hello), nil, func(deps *entrypoint.Dependencies) { deps.Inherited = given })
			if given.listener != nil && s.address != given.listener.Addr().String() {
				t.Errorf("it listens on %s", s.address)
			}
			if got := strings.Join(given.asked, ", "); got != "tcp web 127.0.0.1:0, udp web 127.0.0.1:0" {
				t.Errorf("asked for %s", got)
			}
			client, url := s.client("h1")
			if _, text := do(t, client, http.MethodGet, url, nil); text != "hello" {
				t.Errorf("HTTP/1.1: got %q", text)
			}
			url = "https://" + s.address
			if len(given.packets) > 0 {
				url = "https://" + given.packets[0].LocalAddr().String()
			}
			if _, text := do(t, s.http3(nil), http.MethodGet, url, nil); text != "hello" {
				t.Errorf("HTTP/3: got %q", text)
			}
		})
	}
}

// TestInheritedGroup refuses several UDP sockets where one is used: the kernel would divide the clients among them.
func TestInheritedGroup(t *testing.T) {
	t.Parallel()
	config := newConfig()
	config.HTTP3 = new(static.HTTP3)
	group := bindUDP(t, 2)
	e, err := entrypoint.New("web", config, http.NotFoundHandler(), &selector{}, entrypoint.Dependencies{
		Logger: newMemory(t), Inherited: &inherited{packets: group},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `entrypoint "web": http3 has one UDP socket, and 2 are inherited`
	if err := e.Listen(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, socket := range group {
		if socket.SetDeadline(time.Now()) == nil {
			t.Error("a socket is left open")
		}
	}
}

// TestInheritedPackets serves datagrams on all sockets that were bound before.
func TestInheritedPackets(t *testing.T) {
	t.Parallel()
	group := bindUDP(t, 2)
	given := &inherited{packets: group}
	server := &echo{ended: make(chan struct{})}
	e, err := entrypoint.NewPackets("dns", packetConfig(nil), server, given)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(given.asked, ", "); got != "udp dns 127.0.0.1:0" {
		t.Errorf("asked for %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	for _, socket := range group {
		conn, err := new(net.Dialer).DialContext(t.Context(), "udp", socket.LocalAddr().String())
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
}
