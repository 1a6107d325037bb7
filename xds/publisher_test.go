package xds_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/xds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// probe is the name to which served subscribes.
const probe = "x"

// limit is how long a test waits for what is to happen.
const limit = 2 * time.Minute

// world is a publisher with its server, and the state that it publishes.
type world struct {
	t         *testing.T
	publisher *xds.Publisher
	server    *xds.Server
	address   string

	state   atomic.Pointer[pipeline.State]
	news    chan struct{} // closed with the next state
	version atomic.Uint64
}

// start serves a publisher on a loopback address until the test ends.
func start(t *testing.T, options xds.ServerOptions, views ...[]string) *world {
	t.Helper()
	w := &world{t: t, news: make(chan struct{})}
	w.state.Store(&pipeline.State{State: provider.State{Changed: w.news}})
	w.publisher = xds.NewPublisher(xds.Options{
		State: w.state.Load, Logger: telemetry.Discard{}, Views: views, Started: time.Now(),
	})
	if options.MaxStreams == 0 {
		options.MaxStreams = 100
	}
	w.server = xds.NewServer(w.publisher, options)
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test listens
	if err != nil {
		t.Fatal(err)
	}
	w.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.publisher.Run(ctx) })
	running.Go(func() {
		if err := w.server.Serve(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return w
}

// services publishes a complete state with these services of files.
func (w *world) services(services map[string]*dynamic.Service, verdicts ...dynamic.Verdict) {
	w.publish(services, nil, verdicts...)
}

// publish publishes a complete state with these services, of these configurations of providers.
func (w *world) publish(
	services map[string]*dynamic.Service, included map[string]*dynamic.Configuration, verdicts ...dynamic.Verdict,
) {
	w.complete(services, included, verdicts...)
	// A call that begins while the server is unavailable fails in grpc-go when the first configuration arrives, although
	// it waits for the channel to be ready.
	until(w.t, "streams are served", func() bool {
		ctx, cancel := context.WithCancel(w.t.Context())
		defer cancel()
		return w.served(ctx) == nil
	})
	probes := func(one xds.Client) bool {
		return slices.ContainsFunc(one.Types, func(of xds.ClientType) bool { return slices.Equal(of.Names, []string{probe}) })
	}
	until(w.t, "the probe has ended", func() bool { return !slices.ContainsFunc(w.server.Clients(), probes) })
}

// complete publishes as publish does, and does not wait.
func (w *world) complete(
	services map[string]*dynamic.Service, included map[string]*dynamic.Configuration, verdicts ...dynamic.Verdict,
) {
	configuration := &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{Services: immutable.Of(services)}}
	told := w.news
	w.news = make(chan struct{})
	w.state.Store(&pipeline.State{
		State:      provider.State{Changed: w.news, Verdicts: verdicts, Included: included},
		Generation: 1, Ready: true, Configuration: configuration,
	})
	close(told)
}

// ready publishes a complete state without services.
func (w *world) ready() { w.services(nil) }

// set applies an endpoint set.
func (w *world) set(key string, addresses ...netip.AddrPort) {
	set := dynamic.EndpointSet{Key: key, Version: w.version.Add(1), Noticed: time.Now()}
	for _, address := range addresses {
		set.Endpoints = append(set.Endpoints, dynamic.Endpoint{Address: address})
	}
	slices.SortFunc(set.Endpoints, func(a, b dynamic.Endpoint) int { return a.Address.Compare(b.Address) })
	w.publisher.Apply(set)
}

// remove deletes an endpoint set.
func (w *world) remove(key string) {
	w.publisher.Apply(dynamic.EndpointSet{Key: key, Version: w.version.Add(1), Deleted: true})
}

// until waits until a condition holds.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s", limit, what)
		case <-tick.C:
		}
	}
}

// backend is a gRPC endpoint.
type backend struct {
	grpc_health_v1.UnimplementedHealthServer

	address netip.AddrPort
	server  *grpc.Server
}

// Check answers every call.
func (b *backend) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (
	*grpc_health_v1.HealthCheckResponse, error,
) {
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// startBackend starts an endpoint that stops when the test ends.
func startBackend(t *testing.T) *backend {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test listens
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{address: listener.Addr().(*net.TCPAddr).AddrPort(), server: grpc.NewServer()}
	grpc_health_v1.RegisterHealthServer(b.server, b)
	done := make(chan error, 1)
	go func() { done <- b.server.Serve(listener) }()
	t.Cleanup(func() {
		b.server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return b
}

// client is a gRPC channel over xDS.
type client struct {
	t       *testing.T
	channel *grpc.ClientConn
}

// call makes one call, which waits for the channel to be ready, and returns the endpoint that has answered.
func (c client) call() (netip.AddrPort, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	var from peer.Peer
	_, err := grpc_health_v1.NewHealthClient(c.channel).Check(ctx, &grpc_health_v1.HealthCheckRequest{},
		grpc.Peer(&from), grpc.WaitForReady(true))
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.ParseAddrPort(from.Addr.String())
}

// reaches waits until calls have been answered by all these endpoints and by no other for as many calls in a row.
func (c client) reaches(endpoints ...*backend) {
	c.t.Helper()
	until(c.t, fmt.Sprintf("calls reach %d endpoints", len(endpoints)), func() bool {
		seen := map[netip.AddrPort]bool{}
		for range 4 * len(endpoints) {
			address, err := c.call()
			if err != nil {
				c.t.Fatal(err)
			}
			seen[address] = true
		}
		for _, endpoint := range endpoints {
			if !seen[endpoint.address] {
				return false
			}
		}
		return len(seen) == len(endpoints)
	})
}

// raw returns a connection to the xDS server.
func (w *world) raw() *grpc.ClientConn {
	w.t.Helper()
	channel, err := grpc.NewClient("passthrough:///"+w.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = channel.Close() })
	return channel
}

// status returns what the client status service says of the streams.
func (w *world) status() []*statusv3.ClientConfig {
	w.t.Helper()
	response, err := statusv3.NewClientStatusDiscoveryServiceClient(w.raw()).FetchClientStatus(
		w.t.Context(), &statusv3.ClientStatusRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return response.GetConfig()
}
