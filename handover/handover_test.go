package handover_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/handover"
)

// reach connects with a listener, and expects another one of the same socket to accept the connection.
func reach(t *testing.T, listener net.Listener, through net.Listener) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	accepted, err := through.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = accepted.Close() }()
	if accepted.RemoteAddr().String() != conn.LocalAddr().String() {
		t.Errorf("accepted %v, want %v", accepted.RemoteAddr(), conn.LocalAddr())
	}
}

// TestHandOver hands over sockets and state from start to end.
func TestHandOver(t *testing.T) {
	p := newProcess(t)
	keys := bytes.Repeat([]byte("key"), 50_000)
	p.states = []handover.State{
		{Kind: "tickets", Version: 1, Data: keys},
		{Kind: "health", Version: 2},
		{Kind: "quic", Version: 9, Data: []byte("x")},
	}
	web := p.listen("web", ":80")
	p.packets("dns", ":53", 1)
	first := p.packets("dns", ":53", 0)
	p.start(handover.Limits{})
	client := p.connect()
	if got := client.Predecessor(); got != (handover.Process{PID: os.Getpid(), Release: "1.0.0"}) {
		t.Errorf("the predecessor is %v", got)
	}
	if state, ok := client.State("tickets", 1); !ok || !bytes.Equal(state.Data, keys) {
		t.Errorf("tickets: %v, %v", state, ok)
	}
	if state, ok := client.State("health", 1, 2); !ok || len(state.Data) > 0 {
		t.Errorf("health: %v, %v", state, ok)
	}
	if _, ok := client.State("quic", 1, 2); ok {
		t.Error("a state of an unknown version is used")
	}
	listener, ok := client.Inherited().Listener("web", ":80")
	if !ok {
		t.Fatal("no listener")
	}
	defer func() { _ = listener.Close() }()
	reach(t, web, listener)
	late := p.listen("late", ":81")
	if _, ok := client.Inherited().Listener("late", ":81"); ok {
		t.Error("a socket is there before it was sent")
	}
	if err := client.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.event("yield to 2.0.0")
	second, ok := client.Inherited().Listener("late", ":81")
	if !ok {
		t.Fatal("no late listener")
	}
	defer func() { _ = second.Close() }()
	reach(t, late, second)
	packets, ok := client.Inherited().Packets("dns", ":53")
	if !ok || len(packets) != 2 || packets[0].LocalAddr().String() != first.LocalAddr().String() {
		t.Errorf("the group of packets is %v", packets)
	}
	for _, socket := range packets {
		_ = socket.Close()
	}
	if err := client.Confirm(); err != nil {
		t.Error(err)
	}
	p.event("leave to 2.0.0")
	p.wait()
}

// TestSessions hands over connected sockets, and the state that belongs to them, when the predecessor has stopped.
func TestSessions(t *testing.T) {
	p := newProcess(t)
	p.states = []handover.State{{Kind: "limits", Version: 1, Data: []byte("early")}}
	server := p.packets("server", ":54", 0)
	p.yield = func(context.Context) error {
		conn, err := new(net.Dialer).DialContext(t.Context(), "udp", server.LocalAddr().String())
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = conn.Close() })
		p.final = []handover.State{{Kind: "limits", Version: 1, Data: []byte("late")}}
		p.add(handover.Socket{
			Address: handover.Address{Name: "dns", Network: handover.Session, HostPort: ":53"},
			Index:   7, Conn: conn.(*net.UDPConn),
		})
		return nil
	}
	p.start(handover.Limits{})
	client := p.connect()
	if got := client.Inherited().Conns(handover.Session, "dns", ":53"); len(got) > 0 {
		t.Errorf("sessions are there before the predecessor has stopped: %v", got)
	}
	if err := client.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state, ok := client.State("limits", 1); !ok || string(state.Data) != "late" {
		t.Errorf("the state is %q, %v", state.Data, ok)
	}
	conns := client.Inherited().Conns(handover.Session, "dns", ":53")
	if len(conns) != 1 || conns[7] == nil {
		t.Fatalf("the sessions are %v", conns)
	}
	defer func() { _ = conns[7].Close() }()
	if _, err := conns[7].Write([]byte("a")); err != nil {
		t.Error(err)
	}
	if n, _, err := server.ReadFrom(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("read %d bytes, error %v", n, err)
	}
	if err := client.Confirm(); err != nil {
		t.Error(err)
	}
}

// TestSuccessorOfSuccessor publishes the socket of a successor in the place of its predecessor's, which leaves it.
func TestSuccessorOfSuccessor(t *testing.T) {
	p := newProcess(t)
	p.start(handover.Limits{})
	client := p.connect()
	if err := client.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := newProcess(t)
	next.path = p.path
	next.start(handover.Limits{})
	if err := client.Confirm(); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if err := p.server.Close(); err != nil {
		t.Error(err)
	}
	client = next.connect()
	if err := errors.Join(client.TakeOver(t.Context()), client.Confirm()); err != nil {
		t.Error(err)
	}
	next.event("yield to 2.0.0")
	next.event("leave to 2.0.0")
	next.wait()
	_ = next.server.Close()
	if _, err := os.Lstat(p.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of a socket is left: %v", err)
	}
}

// TestInherited selects sockets by name and address.
func TestInherited(t *testing.T) {
	p := newProcess(t)
	sockets := map[string]net.Listener{}
	for _, of := range [][3]string{
		{"shared", ":80", "shared :80"},
		{"other", ":80", "other :80"},
		{"any", "127.0.0.1:0", "any"},
		{"some", "127.0.0.1:0", "some"},
		{"old", ":443", "old :443"},
		{"unused", ":9", "unused"},
	} {
		sockets[of[2]] = p.listen(of[0], of[1])
	}
	p.packets("dns", ":53", 0)
	p.packets("dns", ":53", 1)
	p.packets("elsewhere", ":53", 0)
	p.start(handover.Limits{})
	inherited := p.connect().Inherited()
	for _, c := range []struct{ name, address, want string }{
		{"other", ":80", "other :80"},    // The name comes before the order.
		{"renamed", ":80", "shared :80"}, // The address suffices.
		{"shared", ":80", ""},            // It is gone.
		{"some", "127.0.0.1:0", "some"},
		{"renamed", "127.0.0.1:0", ""}, // The port is that of the name.
		{"new", ":443", "old :443"},
		{"old", ":444", ""},
		{"dns", ":53", ""}, // It is udp.
	} {
		listener, ok := inherited.Listener(c.name, c.address)
		if ok != (c.want != "") {
			t.Errorf("%s %s: got %v, want %q", c.name, c.address, ok, c.want)
		}
		if !ok {
			continue
		}
		if got, want := listener.Addr().String(), sockets[c.want].Addr().String(); got != want {
			t.Errorf("%s %s: got %s, want %s", c.name, c.address, got, want)
		}
		_ = listener.Close()
	}
	for _, want := range []int{2, 1, 0} { // The group of its name, and then that of another one.
		group, ok := inherited.Packets("dns", ":53")
		if len(group) != want || ok != (want > 0) {
			t.Errorf("a group has %d sockets, want %d", len(group), want)
		}
		for _, socket := range group {
			_ = socket.Close()
		}
	}
	want := []handover.Address{
		{Name: "any", Network: "tcp", HostPort: "127.0.0.1:0"}, {Name: "unused", Network: "tcp", HostPort: ":9"},
	}
	if got := inherited.CloseUnused(); !slices.Equal(got, want) {
		t.Errorf("unused are %v, want %v", got, want)
	}
	if got := inherited.CloseUnused(); len(got) > 0 {
		t.Errorf("again unused are %v", got)
	}
	if got := inherited.Closed(); !slices.Equal(got, want) {
		t.Errorf("closed are %v, want %v", got, want)
	}
}

// TestManySockets sends more descriptors than a message has, and leaves sockets out that are closed.
func TestManySockets(t *testing.T) {
	p := newProcess(t)
	const all, closed = 150, 10
	var listeners []net.Listener
	for i := range all {
		listeners = append(listeners, p.listen(fmt.Sprintf("entrypoint%d", i), ":0"))
	}
	for i := range closed {
		_ = listeners[i*7].Close()
	}
	p.start(handover.Limits{})
	client := p.connect()
	for i, listener := range listeners {
		got, ok := client.Inherited().Listener(fmt.Sprintf("entrypoint%d", i), ":0")
		if want := i%7 != 0 || i >= 7*closed; ok != want {
			t.Errorf("socket %d: %v, want %v", i, ok, want)
		}
		if ok {
			if got.Addr().String() != listener.Addr().String() {
				t.Errorf("socket %d is %v, want %v", i, got.Addr(), listener.Addr())
			}
			_ = got.Close()
		}
	}
}

// TestTooMuchState leaves out what does not fit, and says so.
func TestTooMuchState(t *testing.T) {
	p := newProcess(t)
	p.states = []handover.State{
		{Kind: "small", Version: 1, Data: []byte("a")},
		{Kind: "large", Version: 1, Data: make([]byte, 32<<20)},
		{Kind: "last", Version: 1, Data: []byte("b")},
	}
	p.start(handover.Limits{})
	client := p.connect()
	for kind, want := range map[string]bool{"small": true, "large": false, "last": true} {
		if _, ok := client.State(kind, 1); ok != want {
			t.Errorf("%s: %v, want %v", kind, ok, want)
		}
	}
	err := receive(t, p.failed, "a failure")
	if !strings.Contains(err.Error(), "the state large (version 1, 33554432 bytes) is not handed over") {
		t.Errorf("the failure is %v", err)
	}
}

// TestNoDescriptorIsLeft counts the descriptors after hand-overs that end at each stage.
func TestNoDescriptorIsLeft(t *testing.T) {
	p := newProcess(t)
	for i := range 100 {
		p.listen(fmt.Sprintf("entrypoint%d", i), ":80")
	}
	p.start(handover.Limits{})
	before := open(t)
	for stage := range 20 {
		client := p.connect()
		if stage%2 > 0 {
			if listener, ok := client.Inherited().Listener("entrypoint3", ":80"); ok {
				_ = listener.Close()
			}
		}
		if stage%3 > 0 {
			if err := client.TakeOver(t.Context()); err != nil {
				t.Error(err)
			}
			p.event("yield to 2.0.0")
		}
		_ = client.Close()
		if stage%3 > 0 {
			p.event("resume")
		}
		p.failure()
	}
	if after := open(t); after > before+1 { // The end that the server has of the last connection may be open.
		t.Errorf("%d descriptors are open, before it were %d", after, before)
	}
}
