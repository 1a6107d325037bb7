package xds_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	source "github.com/sluiceproxy/sluice/provider/xds"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/xds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// server is an xDS server, as another Sluice has it.
type server struct {
	t         *testing.T
	address   string
	publisher *xds.Publisher
	state     atomic.Pointer[pipeline.State]
	changed   chan struct{}
	stop      func()
}

// serve starts a server that has nothing yet. On an address it listens there. Its port is kept until the test ends,
// even while there is no server.
func serve(t *testing.T, address string) *server {
	t.Helper()
	if address == "127.0.0.1:0" {
		address = http1test.Reserve(t)
	}
	s := &server{t: t, changed: make(chan struct{})}
	s.state.Store(&pipeline.State{State: provider.State{Changed: s.changed}})
	s.publisher = xds.NewPublisher(xds.Options{State: s.state.Load, Logger: telemetry.Discard{}, Started: time.Now()})
	listener := listen(t, address)
	s.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { s.publisher.Run(ctx) })
	running.Go(func() { _ = xds.NewServer(s.publisher, xds.ServerOptions{MaxStreams: 10}).Serve(ctx, listener) })
	s.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(s.stop)
	return s
}

// listen listens on an address. That of a server of before may be in use for a moment, by a connection of another
// process.
func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; <-ticker.C {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err == nil {
			return listener
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// publish publishes services of files, by their qualified names.
func (s *server) publish(services map[string]*dynamic.Service) {
	before := s.changed
	s.changed = make(chan struct{})
	s.state.Store(&pipeline.State{
		State: provider.State{Changed: s.changed}, Generation: 1, Ready: true,
		Configuration: &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{Services: immutable.Of(services)}},
	})
	close(before)
}

// set publishes an endpoint set; without endpoints it is an empty one.
func (s *server) set(key string, endpoints ...string) {
	set := dynamic.EndpointSet{Key: key}
	for _, one := range endpoints {
		set.Endpoints = append(set.Endpoints, dynamic.Endpoint{Address: netip.MustParseAddrPort(one)})
	}
	s.publisher.Apply(set)
}

// delete deletes an endpoint set.
func (s *server) delete(key string) { s.publisher.Apply(dynamic.EndpointSet{Key: key, Deleted: true}) }

// servers returns a service.
func servers(addresses ...string) *dynamic.Service {
	pool := &dynamic.ServersLoadBalancer{}
	pool.SetDefaults()
	for _, address := range addresses {
		one := dynamic.Server{URL: "http://" + address}
		one.SetDefaults()
		pool.Servers = append(pool.Servers, one)
	}
	return &dynamic.Service{LoadBalancer: pool}
}

// sent is what a provider has sent.
type sent struct {
	configuration *dynamic.Configuration
	sets          map[string]dynamic.EndpointSet
	state         dynamic.ProviderState
	reason        string
}

// router returns a router of the configuration; nil without one.
func (s sent) router(name string) *dynamic.Router {
	if s.configuration == nil {
		return nil
	}
	found, _ := s.configuration.Object(dynamic.Ref{Kind: dynamic.KindRouter, Name: name}).(*dynamic.Router)
	return found
}

// service returns a service of the configuration; nil without one.
func (s sent) service(name string) *dynamic.Service {
	if s.configuration == nil {
		return nil
	}
	found, _ := s.configuration.Object(dynamic.Ref{Kind: dynamic.KindService, Name: name}).(*dynamic.Service)
	return found
}

// running is a provider that runs.
type running struct {
	t *testing.T
	*source.Provider

	mu      sync.Mutex
	arrived chan struct{} // closed with the next message
	last    sent
	counts  map[string]uint64 // requests by router
}

// Traffic implements source.Usage.
func (r *running) Traffic(_ metrics.TrafficKind, names []string) (all []metrics.Traffic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		all = append(all, metrics.Traffic{Name: name, Requests: r.counts[name]})
	}
	return all
}

func options(address string, change func(*static.XDSProvider)) static.XDSProvider {
	config := static.XDSProvider{Address: address, Node: "test"}
	config.SetDefaults()
	config.Timeout = static.Duration(patience)
	if change != nil {
		change(&config)
	}
	return config
}

// run starts a provider.
func run(t *testing.T, address string, change func(*static.XDSProvider)) *running {
	t.Helper()
	r := &running{t: t, arrived: make(chan struct{}), counts: map[string]uint64{}}
	var err error
	if r.Provider, err = source.New(options(address, change), "test", r, telemetry.Discard{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	messages := make(chan dynamic.Message)
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := r.Provide(ctx, messages); err != nil {
			t.Error(err)
		}
		close(messages)
	})
	ended.Go(func() {
		for message := range messages {
			r.receive(message)
		}
	})
	t.Cleanup(func() {
		cancel()
		ended.Wait()
	})
	return r
}

func (r *running) receive(message dynamic.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if message.Configuration != nil {
		r.last.configuration = message.Configuration
	}
	sets := maps.Clone(r.last.sets)
	if sets == nil {
		sets = map[string]dynamic.EndpointSet{}
	}
	for _, set := range message.Endpoints {
		sets[set.Key] = set
	}
	r.last.sets, r.last.state, r.last.reason = sets, message.State, message.Reason
	close(r.arrived)
	r.arrived = make(chan struct{})
}

// until waits until a condition on what was sent holds, and returns that.
func (r *running) until(what string, holds func(sent) bool) sent {
	r.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		r.mu.Lock()
		arrived, last := r.arrived, r.last
		r.mu.Unlock()
		if holds(last) {
			return last
		}
		select {
		case <-arrived:
		case <-timeout.C:
			r.t.Fatalf("waiting for %s: state %s %q, sets %v", what, last.state, last.reason, last.sets)
		}
	}
}

// synced waits for the first state.
func (r *running) synced() sent {
	r.t.Helper()
	return r.until("the first state", func(s sent) bool {
		return s.state == dynamic.StateSynced && s.configuration != nil
	})
}

// discovers expects that a host is known, and returns what was sent with its router.
func (r *running) discovers(host string, port uint16) sent {
	r.t.Helper()
	if known, err := r.Discover(r.t.Context(), host, port); !known || err != nil {
		r.t.Fatalf("%s:%d is not known: %v", host, port, err)
	}
	name := fmt.Sprintf("%s:%d", host, port)
	return r.until("the router of "+name, func(s sent) bool { return s.router(name) != nil })
}

// unknown expects that a host does not exist.
func (r *running) unknown(host string, port uint16) {
	r.t.Helper()
	if known, err := r.Discover(r.t.Context(), host, port); known || err != nil {
		r.t.Errorf("%q:%d: known %v, %v", host, port, known, err)
	}
}
