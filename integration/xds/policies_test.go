package xds

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// staticFiles publishes files alone.
const staticFiles = `
entryPoints: {traefik: {address: "127.0.0.1:0"}}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
xds: {address: "` + serverAddress + `"}
`

// policies are services of each kind that a gRPC client implements.
const policies = `
http:
  services:
    a: {loadBalancer: {servers: [{url: "h2c://${A}"}]}}
    b: {loadBalancer: {servers: [{url: "h2c://${B}"}]}}
    down: {loadBalancer: {servers: [{url: "h2c://${DOWN}"}]}}
    weighted: {weighted: {services: [{name: a, weight: 3}, {name: b, weight: 1}]}}
    servers: {loadBalancer: {servers: [{url: "h2c://${A}", weight: 3}, {url: "h2c://${B}", weight: 1}]}}
    hash:
      loadBalancer:
        strategy: hash
        hash: {source: header, name: X-Key, boundedLoad: 0}
        servers: [{url: "h2c://${A}"}, {url: "h2c://${B}"}, {url: "h2c://${C}"}]
    failover: {failover: {service: down, fallback: b}}
    outlier:
      loadBalancer:
        outlierDetection: {consecutiveFailures: 5, baseEjectionTime: 1m, maxEjectionTime: 5m}
        servers: [{url: "h2c://${A}"}, {url: "h2c://${B}"}, {url: "h2c://${C}"}]
`

// backend is a gRPC server that answers with its name.
type backend struct {
	grpc_testing.UnimplementedTestServiceServer

	name    string
	address string
	fails   atomic.Bool
}

// UnaryCall answers with the name, or fails.
func (b *backend) UnaryCall(context.Context, *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	if b.fails.Load() {
		return nil, status.Error(codes.Unavailable, "as wanted")
	}
	return &grpc_testing.SimpleResponse{ServerId: b.name}, nil
}

// serve serves on its address, or on any one, until stop is called or the test ends.
func (b *backend) serve(t testing.TB) (stop func()) {
	t.Helper()
	if b.address == "" {
		b.address = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	b.address = listener.Addr().String()
	server := grpc.NewServer()
	grpc_testing.RegisterTestServiceServer(server, b)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	stop = func() { server.Stop(); serving.Wait() }
	t.Cleanup(stop)
	return stop
}

// TestPolicies calls services of files, each with another way to balance, by grpc-go.
func TestPolicies(t *testing.T) {
	a, b, c := &backend{name: "a"}, &backend{name: "b"}, &backend{name: "c"}
	down := &backend{name: "down", address: harness.FreeAddress(t)}
	for _, one := range []*backend{a, b, c} {
		one.serve(t)
	}
	harness.Start(t, harness.Setup{
		Static: staticFiles, Dynamic: map[string]string{"services.yaml": policies},
		Vars: map[string]string{"A": a.address, "B": b.address, "C": c.address, "DOWN": down.address},
	})
	for _, name := range []string{"weighted", "servers"} {
		t.Run(name, func(t *testing.T) { weights(t, name+"@file") })
	}
	t.Run("hash", hashes)
	t.Run("failover", func(t *testing.T) { failsOver(t, down) })
	t.Run("outlier", func(t *testing.T) { ejects(t, c) })
}

// ask makes a number of calls and counts the answers; failures are counted under their codes.
func ask(t testing.TB, service grpc_testing.TestServiceClient, count int, pairs ...string) map[string]int {
	t.Helper()
	answers := map[string]int{}
	for range count {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), pairs...), patience)
		answer, err := service.UnaryCall(ctx, &grpc_testing.SimpleRequest{}, grpc.WaitForReady(false))
		cancel()
		if err != nil {
			answers[status.Code(err).String()]++
		} else {
			answers[answer.GetServerId()]++
		}
	}
	return answers
}

// connected waits until so many endpoints answer.
func connected(t *testing.T, service grpc_testing.TestServiceClient, count int) {
	t.Helper()
	var got map[string]int
	until(t, func() bool { got = ask(t, service, 30); return len(got) == count }, func() string {
		return fmt.Sprintf("%v, want %d endpoints", got, count)
	})
}

// weights wants three of four calls at a, and one at b.
func weights(t *testing.T, name string) {
	const count = 400
	service := dialXDS(t, name)
	connected(t, service, 2)
	got := ask(t, service, count)
	t.Log(got)
	if got["a"]+got["b"] != count || got["a"] < count*13/20 || got["a"] > count*17/20 {
		t.Errorf("%v, want three in a for one in b", got)
	}
}

// hashes wants calls with the same header at the same endpoint, and others elsewhere.
func hashes(t *testing.T) {
	const keys = 20
	service := dialXDS(t, "hash@file")
	reached := map[string]int{}
	for i := range keys {
		got := ask(t, service, 10, "x-key", fmt.Sprint("key-", i))
		if len(got) != 1 {
			t.Errorf("calls with one key reach %v", got)
		}
		for name := range got {
			reached[name]++
		}
	}
	t.Logf("keys: %v", reached)
	if len(reached) < 2 || reached["a"]+reached["b"]+reached["c"] != keys {
		t.Errorf("%d keys reach %v", keys, reached)
	}
}

// failsOver wants the fallback while the main service cannot be reached, and the main service when it can.
func failsOver(t *testing.T, down *backend) {
	service := dialXDS(t, "failover@file")
	becomes := func(want string) {
		t.Helper()
		var got map[string]int
		until(t, func() bool { got = ask(t, service, 1); return got[want] == 1 }, func() string {
			return fmt.Sprintf("%v, want %s", got, want)
		})
		if got = ask(t, service, 20); got[want] != 20 {
			t.Errorf("%v, want %s alone", got, want)
		}
	}
	if got := ask(t, service, 20); got["b"] != 20 {
		t.Errorf("%v, want the fallback at once", got)
	}
	stop := down.serve(t)
	becomes("down")
	stop()
	becomes("b")
}

// ejects wants no calls at an endpoint that fails all of them.
func ejects(t *testing.T, failing *backend) {
	service := dialXDS(t, "outlier@file")
	connected(t, service, 3)
	failing.fails.Store(true)
	var got map[string]int
	until(t, func() bool { got = ask(t, service, 30); return got["a"]+got["b"] == 30 }, func() string {
		return fmt.Sprintf("%v, want no failures after the ejection", got)
	})
	failing.fails.Store(false)
	if got = ask(t, service, 30); got["a"]+got["b"] != 30 {
		t.Errorf("%v, want a and b until the ejection is over", got)
	}
}
