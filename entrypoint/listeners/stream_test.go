package listeners_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestTCPListener(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	r.listener("raw", address, dynamic.ListenerTCP, "")
	r.tcpRoute("raw", "raw@gw", "HostSNI(`*`)", backend(t, "first", nil), nil)
	r.accepted()
	if got := echo(dial(t, "tcp", address)); got != "first hello\n" {
		t.Errorf("got %q", got)
	}
	r.tcpRoute("raw", "raw@gw", "HostSNI(`*`)", backend(t, "second", nil), nil)
	r.accepted()
	if got := echo(dial(t, "tcp", address)); got != "second hello\n" {
		t.Errorf("got %q", got)
	}
	r.put(dynamic.KindTCPRouter, "raw@gw", nil)
	r.accepted()
	conn := dial(t, "tcp", address)
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil { // It is closed before it sends anything.
		t.Errorf("%d bytes, %v without a router", n, err)
	}
}

// packetBackend returns the address of a server that sends datagrams back behind its name.
func packetBackend(t *testing.T, name string) string {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 100)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte(name+" "+string(buffer[:n])), from)
		}
	}()
	return conn.LocalAddr().String()
}

// exchange sends a datagram, and returns the answer.
func exchange(t *testing.T, address string) string {
	t.Helper()
	conn := dial(t, "udp", address)
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	if _, err := conn.Write([]byte("hello")); err != nil {
		return err.Error()
	}
	buffer := make([]byte, 100)
	n, err := conn.Read(buffer)
	if err != nil {
		return err.Error()
	}
	return string(buffer[:n])
}

// udpRoute declares a UDP router of a listener with a server.
func (r *rig) udpRoute(name, on, server string) {
	balancer := &dynamic.UDPServersLoadBalancer{}
	balancer.SetDefaults()
	balancer.Servers = []dynamic.UDPServer{{Address: server}}
	r.put(dynamic.KindUDPService, name+"@gw", &dynamic.UDPService{LoadBalancer: balancer})
	r.put(dynamic.KindUDPRouter, name+"@gw", &dynamic.UDPRouter{EntryPoints: []string{on}, Service: name})
}

func TestUDPListener(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "udp")
	r.listener("dns", address, dynamic.ListenerUDP, "")
	r.udpRoute("dns", "dns@gw", packetBackend(t, "first"))
	r.accepted()
	if got := exchange(t, address); got != "first hello" {
		t.Errorf("got %q", got)
	}
	// Another listener of the address, with the other's socket.
	r.put(dynamic.KindListener, "dns@gw", nil)
	r.put(dynamic.KindUDPRouter, "dns@gw", nil)
	r.listener("names", address, dynamic.ListenerUDP, "")
	r.udpRoute("names", "names@gw", packetBackend(t, "second"))
	r.accepted()
	if got := exchange(t, address); got != "second hello" {
		t.Errorf("got %q", got)
	}
}

// An address that another process has is a verdict, which is gone when the address is free.
func TestAddressBecomesFree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	taken, free := other.Addr().String(), freeAddress(t, "tcp")
	r.listener("one", taken, dynamic.ListenerHTTP, "")
	r.listener("two", taken, dynamic.ListenerHTTP, "b.test")
	r.listener("free", free, dynamic.ListenerHTTP, "")
	r.route("all", "a", "one@gw", "two@gw", "free@gw")
	verdicts := r.apply()
	for _, name := range []string{"listener one@gw", "listener two@gw"} {
		verdict := verdicts[name]
		if verdict.Code != dynamic.CodeUnusableAddress || verdict.Status != dynamic.Quarantined ||
			!strings.Contains(verdict.Reason, "address already in use") {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
	if len(verdicts) != 2 {
		t.Errorf("verdicts: %v", verdicts)
	}
	want(t, client(t, free, "", false), "http://"+free, "x.test", 200, "a")
	<-r.sockets.Changed()
	_ = other.Close()
	<-r.sockets.Changed()
	if left := r.sockets.Verdicts(); len(left) != 0 {
		t.Errorf("verdicts: %v", left)
	}
	want(t, client(t, taken, "", false), "http://"+taken, "b.test", 200, "a")
}

// A UDP listener that returns while the sessions of its address drain gets the address at once.
func TestUDPAddressReturnsWhileItDrains(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.static["edge"].Transport.LifeCycle.GraceTimeOut = static.Duration(time.Hour)
	r.static[""].Transport.LifeCycle.GraceTimeOut = static.Duration(time.Millisecond)
	address := freeAddress(t, "udp")
	declare := func(template, answer string) {
		r.put(dynamic.KindListener, "dns@gw", &dynamic.Listener{
			Address: address, Protocol: dynamic.ListenerUDP, Template: template,
		})
		r.udpRoute("dns", "dns@gw", packetBackend(t, answer))
		r.apply() // The address may have a verdict until the sessions have ended.
	}
	declare("edge", "first")
	if got := exchange(t, address); got != "first hello" { // The session stays for a minute.
		t.Fatalf("got %q", got)
	}
	r.put(dynamic.KindListener, "dns@gw", nil)
	r.put(dynamic.KindUDPRouter, "dns@gw", nil)
	r.accepted()
	declare("", "second")
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	for len(r.sockets.Verdicts()) > 0 {
		select {
		case <-r.sockets.Changed():
		case <-limit.C:
			t.Fatal("the address is not bound")
		}
	}
	if got := exchange(t, address); got != "second hello" {
		t.Errorf("got %q", got)
	}
}

// The address of a listener that is gone refuses clients at once, for it has no routes that could serve them.
func TestAddressThatIsGoneRefusesClients(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.static["edge"].Transport.LifeCycle.RequestAcceptGraceTimeout = static.Duration(time.Hour)
	address := freeAddress(t, "tcp")
	r.put(dynamic.KindListener, "one@gw", &dynamic.Listener{
		Address: address, Protocol: dynamic.ListenerHTTP, Template: "edge",
	})
	r.accepted()
	_ = dial(t, "tcp", address).Close()
	r.put(dynamic.KindListener, "one@gw", nil)
	r.accepted()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(timeout); ; <-again.C {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("clients are accepted without a listener")
		}
	}
}

// The address of a listener that is gone can be used by others, and by the next listener at once.
func TestAddressIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := freeAddress(t, "tcp")
	for range 5 {
		r.listener("one", address, dynamic.ListenerHTTP, "")
		r.route("one", "a", "one@gw")
		r.accepted()
		want(t, client(t, address, "", false), "http://"+address, "x.test", 200, "a")
		r.put(dynamic.KindListener, "one@gw", nil)
		r.put(dynamic.KindRouter, "one@gw", nil)
		r.accepted()
	}
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(timeout); ; <-again.C {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err == nil {
			_ = listener.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
