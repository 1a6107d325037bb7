package stream_test

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/telemetry"
)

// forEver is a transport that never cuts a half-closed connection.
func forEver() *dynamic.TCPServersTransport {
	transport := stream.DefaultTransport(nil)
	transport.TerminationDelay = -1
	return transport
}

// TestHalfClose has each side end its direction first, and the other one answer after that.
func TestHalfClose(t *testing.T) {
	address, conns := accepted(t)
	g := newRig(t, setup{servers: servers(address), transport: forEver()})
	for _, clientFirst := range []bool{true, false} {
		client := g.dial(t)
		server := receive(t, conns)
		first, second, end := client, server, "client_eof"
		if !clientFirst {
			first, second, end = server, client, "server_eof"
		}
		exchange(t, client, "hello", "")
		expect(t, server, "hello")
		if err := first.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(second); err != nil || len(rest) > 0 {
			t.Errorf("%s: read %q, %v", end, rest, err)
		}
		if _, err := io.WriteString(second, "the answer"); err != nil {
			t.Fatal(err)
		}
		_ = second.Close()
		if rest, err := io.ReadAll(first); err != nil || string(rest) != "the answer" {
			t.Errorf("%s: read %q, %v", end, rest, err)
		}
		result := g.result(t)
		_ = first.Close()
		equal(t, "end", result.End, end)
		equal(t, "code and reason", string(result.Code)+result.Reason, "")
		equal(t, "endpoint", result.Service+" "+result.Endpoint, "db@file "+address)
		equal(t, "attempts", result.Attempts, 1)
		equal(t, "bytes", result.FromClient+result.FromServer, int64(len("hello")+len("the answer")))
	}
}

func TestReset(t *testing.T) {
	address, conns := accepted(t)
	g := newRig(t, setup{servers: servers(address)})
	for end, reset := range map[string]func(client, server *net.TCPConn) (resets, other *net.TCPConn){
		"client_reset": func(client, server *net.TCPConn) (*net.TCPConn, *net.TCPConn) { return client, server },
		"server_reset": func(client, server *net.TCPConn) (*net.TCPConn, *net.TCPConn) { return server, client },
	} {
		client := g.dial(t)
		server := receive(t, conns)
		exchange(t, client, "x", "")
		expect(t, server, "x")
		resets, other := reset(client, server)
		_ = resets.SetLinger(0)
		_ = resets.Close()
		resetBy(t, other)
		equal(t, "end", g.result(t).End, end)
	}
}

// TestTerminationDelay cuts what goes on after one direction has ended, by the transport's delay or the service's.
func TestTerminationDelay(t *testing.T) {
	short := stream.DefaultTransport(nil)
	short.TerminationDelay = ptypes.Duration(time.Millisecond)
	delay := time.Millisecond
	for name, s := range map[string]setup{
		"transport": {transport: short},
		"service":   {transport: forEver(), options: stream.Options{TerminationDelay: &delay}},
	} {
		address, conns := accepted(t)
		s.servers = servers(address)
		g := newRig(t, s)
		client := g.dial(t)
		server := receive(t, conns)
		_ = client.CloseWrite()
		equal(t, name, g.result(t).End, "termination_delay")
		_, _ = io.Copy(io.Discard, server)
	}
}

func TestIdleTimeout(t *testing.T) {
	transport := stream.DefaultTransport(nil)
	transport.IdleTimeout = ptypes.Duration(50 * time.Millisecond)
	address, _ := accepted(t)
	g := newRig(t, setup{servers: servers(address), transport: transport})
	client := g.dial(t)
	equal(t, "end", g.result(t).End, "idle_timeout")
	if rest, err := io.ReadAll(client); err != nil || len(rest) > 0 {
		t.Errorf("read %q, %v", rest, err)
	}
}

// parked waits until no connection has a goroutine in the relay.
func parked(t testing.TB) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(eventTimeout); ; <-tick.C {
		if !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "forward/relay.(*flow)") {
			return
		}
		if time.Now().After(until) {
			t.Fatal("connections are not parked")
		}
	}
}

func TestShutdown(t *testing.T) {
	address, conns := accepted(t)
	g := newRig(t, setup{servers: servers(address)})
	client := g.dial(t)
	server := receive(t, conns)
	exchange(t, client, "x", "")
	expect(t, server, "x")
	g.stop()
	result := g.result(t)
	equal(t, "end", result.End, "shutdown")
	equal(t, "reason", result.Reason, "")
	for _, conn := range []*net.TCPConn{client, server} {
		_ = conn.SetReadDeadline(time.Now().Add(eventTimeout))
		// A byte that the relay has not counted yet may be lost, as far as it can know.
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !isReset(err) {
			t.Errorf("read %v", err)
		}
	}

	// A client that comes now is not connected.
	equal(t, "end of a late client", g.refused(t).End, "shutdown")
}

// TestAnotherEndpoint has two of three servers refuse, in turn.
func TestAnotherEndpoint(t *testing.T) {
	good := listen(t, echo)
	for attempts, want := range map[int]stream.Result{
		2: {Attempts: 3, End: "client_eof"},
		1: {Attempts: 2, Code: telemetry.CodeUnreachable, Reason: "connect: connection refused; 2 tries"},
		0: {Attempts: 1, Code: telemetry.CodeUnreachable, Reason: "connect: connection refused"},
	} {
		g := newRig(t, setup{
			servers: servers(refusing(t), refusing(t), good), options: stream.Options{Attempts: attempts},
			transport: forEver(),
		})
		unlucky, connected := stream.Result{}, 0
		for range 3 {
			result := g.echoed(t)
			if result.Code == "" {
				connected++
			}
			if result.Attempts > unlucky.Attempts || result.Code != "" {
				unlucky = result
			}
		}
		// A second attempt takes the turn of the next client, so that not all have the same luck.
		equal(t, "whether some were connected", connected > 0, true)
		equal(t, "whether all were connected", connected == 3, attempts == 2)
		equal(t, "attempts", unlucky.Attempts, want.Attempts)
		equal(t, "end", unlucky.End, want.End)
		equal(t, "code", unlucky.Code, want.Code)
		if !strings.HasSuffix(unlucky.Reason, want.Reason) || want.Reason == "" && unlucky.Reason != "" {
			t.Errorf("reason %q, want %q", unlucky.Reason, want.Reason)
		}
	}
}

// echoed connects a client that may be reset, and demands an echo otherwise.
func (g *rig) echoed(t *testing.T) stream.Result {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.address)
	var rest []byte
	if err == nil {
		// A reset is reported once: to the write, when the reset precedes it.
		_, writeErr := io.WriteString(conn, "x")
		_ = httpio.CloseWrite(conn)
		rest, err = io.ReadAll(conn)
		err = errors.Join(writeErr, err)
		_ = conn.Close()
	}
	result := g.result(t)
	if result.Code == "" && (err != nil || string(rest) != "x") || result.Code != "" && !isReset(err) {
		t.Errorf("%+v: read %q, %v", result, rest, err)
	}
	return result
}

// TestNoOtherEndpoint has all servers refuse, and more attempts than servers.
func TestNoOtherEndpoint(t *testing.T) {
	g := newRig(t, setup{servers: servers(refusing(t), refusing(t)), options: stream.Options{Attempts: 5}})
	result := g.refused(t)
	equal(t, "code", result.Code, telemetry.CodeUnreachable)
	const want = "connect: connection refused; 2 tries; not tried again: no other endpoint may answer"
	if !strings.HasSuffix(result.Reason, want) {
		t.Errorf("reason %q", result.Reason)
	}
	equal(t, "retries", g.pool.Counters().Retries.Load(), 1)

	g.configure(t, setup{})
	result = g.refused(t)
	equal(t, "code without servers", result.Code, telemetry.CodeNoEndpoint)
	equal(t, "up", g.service.Up(), false)
	equal(t, "attempts", result.Attempts, 0)
}

// TestEjection has a server refuse until it is ejected, while another has connections that stay.
func TestEjection(t *testing.T) {
	detection := &dynamic.OutlierDetection{}
	detection.SetDefaults()
	policy, err := outlier.NewPolicy(nil, detection)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := listen(t, echo), refusing(t)
	g := newRig(t, setup{
		servers: servers(bad, good), options: stream.Options{Attempts: 1},
		policies: loadbalancer.Policies{Outlier: policy},
	})
	for range 2 * outlier.DefaultConsecutiveFailures {
		exchange(t, g.dial(t), "x", "x")
	}
	g.registry.Flush(time.Now())
	for member, share := range g.pool.Snapshot().Members() {
		equal(t, "whether "+member.Address()+" serves", share > 0, member.Address() == good)
	}
	equal(t, "connections", g.member(t, good).Endpoint().InFlight(), 2*outlier.DefaultConsecutiveFailures)
	equal(t, "connections to the other", g.member(t, bad).Endpoint().InFlight(), 0)
	traffic := g.member(t, bad).Traffic()
	equal(t, "errors", traffic.Errors, traffic.Requests)
}

// TestLeastConnections counts connections as long as they live.
func TestLeastConnections(t *testing.T) {
	one, two := listen(t, echo), listen(t, echo)
	strategy := picker.Strategy{Name: dynamic.StrategyLeastRequest}
	g := newRig(t, setup{servers: servers(one, two), policies: loadbalancer.Policies{Strategy: strategy}})
	var clients []*net.TCPConn
	for range 10 {
		client := g.dial(t)
		exchange(t, client, "x", "x")
		clients = append(clients, client)
	}
	first, second := g.member(t, one).Endpoint(), g.member(t, two).Endpoint()
	equal(t, "connections", first.InFlight()+second.InFlight(), 10)
	if first.InFlight() < 3 || second.InFlight() < 3 {
		t.Errorf("%d and %d connections", first.InFlight(), second.InFlight())
	}
	for _, client := range clients {
		_ = client.Close()
		g.result(t)
	}
	equal(t, "connections at last", first.InFlight()+second.InFlight(), 0)
}

// TestClientsKeepTheirServer hashes the address of the client.
func TestClientsKeepTheirServer(t *testing.T) {
	strategy := picker.Strategy{Name: dynamic.StrategyHRW}
	g := newRig(t, setup{
		servers:  servers(listen(t, echo), listen(t, echo), listen(t, echo)),
		policies: loadbalancer.Policies{Strategy: strategy},
	})
	first := ""
	for range 10 {
		client := g.dial(t)
		exchange(t, client, "x", "x")
		_ = client.Close()
		result := g.result(t)
		if first == "" {
			first = result.Endpoint
		}
		equal(t, "endpoint", result.Endpoint, first)
	}
}

// TestLimits bounds the open connections.
func TestLimits(t *testing.T) {
	g := newRig(t, setup{
		servers:  servers(listen(t, echo)),
		policies: loadbalancer.Policies{Limits: loadbalancer.Limits{PerEndpoint: 1}},
	})
	first := g.dial(t)
	exchange(t, first, "x", "x")
	equal(t, "code", g.refused(t).Code, telemetry.CodeSaturated)
	_ = first.Close()
	equal(t, "end", g.result(t).End, "client_eof")
	exchange(t, g.dial(t), "x", "x")
}

// TestDrainTimeout has a server leave, whose connections go on until the time is over.
func TestDrainTimeout(t *testing.T) {
	address, conns := accepted(t)
	policies := loadbalancer.Policies{DrainTime: time.Hour}
	g := newRig(t, setup{servers: servers(address), policies: policies})
	client := g.dial(t)
	server := receive(t, conns)
	g.configure(t, setup{servers: servers(listen(t, echo)), policies: policies})
	exchange(t, client, "still here", "")
	expect(t, server, "still here")
	exchange(t, g.dial(t), "x", "x")

	now := time.Now()
	g.registry.Flush(now.Add(time.Minute))
	exchange(t, client, "and here", "")
	expect(t, server, "and here")
	parked(t)
	g.registry.Flush(now.Add(2 * time.Hour))
	result := g.result(t)
	equal(t, "end", result.End, "shutdown")
	equal(t, "reason", result.Reason, "the endpoint has left the service, and drainTimeout is over")
	equal(t, "cut", g.pool.Counters().Cut.Load(), 1)
	for _, conn := range []*net.TCPConn{client, server} {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a connection is still open")
		}
	}
}
