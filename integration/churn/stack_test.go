package churn

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is that of the one endpoint set, which all services follow.
const key = "churn/shop/web:80"

// checkInterval is the interval of health checks.
const checkInterval = 500 * time.Millisecond

// services are one for each strategy, each with a pool of its own over the same endpoints. The last one has health
// checks.
func services() map[string]*dynamic.ServersLoadBalancer {
	found := map[string]*dynamic.ServersLoadBalancer{}
	for _, strategy := range []string{"wrr", "p2c", "hrw", "leasttime", "peakewma", "leastrequest", "hash"} {
		found[strategy] = &dynamic.ServersLoadBalancer{Strategy: strategy}
	}
	found["hash"].Hash = &dynamic.HashStrategy{Source: "header", Name: "X-Key"}
	check := new(dynamic.ServerHealthCheck)
	check.SetDefaults()
	check.Path, check.Interval = checkPath, ptypes.Duration(checkInterval)
	found["checked"] = &dynamic.ServersLoadBalancer{HealthCheck: check}
	for _, balancer := range found {
		balancer.EndpointSet, balancer.Scheme = key, "http"
	}
	return found
}

// configuration routes each service's host to it.
func configuration() *dynamic.Configuration {
	http := &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{}), Services: immutable.Of(map[string]*dynamic.Service{}),
	}
	for name, balancer := range services() {
		http.Routers = http.Routers.With(name, &dynamic.Router{Rule: fmt.Sprintf("Host(`%s.test`)", name), Service: name})
		http.Services = http.Services.With(name, &dynamic.Service{LoadBalancer: balancer})
	}
	return &dynamic.Configuration{HTTP: http}
}

// source is a provider that sends what it is given.
type source chan dynamic.Message

// Provide sends until ctx ends.
func (s source) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	for {
		select {
		case message := <-s:
			messages <- message
		case <-ctx.Done():
			return nil
		}
	}
}

// stack is Sluice from a provider to an entrypoint, wired as its main function does.
type stack struct {
	t        testing.TB
	source   source
	pipeline *pipeline.Pipeline
	registry *loadbalancer.Registry
	address  string
	events   atomic.Int64 // endpoints that were taken out, or came back
	records  records
	stop     func()
}

// records counts the results of requests.
type records struct {
	failed, retried atomic.Int64
	reason          atomic.Pointer[string]
}

// Finished looks at one request.
func (r *records) Finished(record *telemetry.Record) {
	if record.Reason != "" {
		r.failed.Add(1)
		text := strings.Clone(record.Service + " at " + record.Endpoint + ": " + record.Reason)
		r.reason.CompareAndSwap(nil, &text)
	}
	if record.Tries > 1 {
		r.retried.Add(1)
	}
}

// reset begins to count anew.
func (r *records) reset() {
	r.failed.Store(0)
	r.retried.Store(0)
	r.reason.Store(nil)
}

// newStack starts a Sluice whose services have no endpoints yet.
func newStack(t testing.TB) *stack {
	t.Helper()
	s := &stack{t: t, source: make(source)}
	prober := health.NewProber(128)
	s.registry = loadbalancer.NewRegistry(loadbalancer.Options{Prober: prober, Report: func(loadbalancer.Event) {
		s.events.Add(1)
	}})
	doors := []router.EntryPoint{{Name: "web", Default: true}}
	target := router.NewActiveTable(doors)
	transport := new(dynamic.ServersTransport)
	transport.SetDefaults()
	s.pipeline = pipeline.New(pipeline.Options{
		Source: provider.NewHub([]provider.Entry{{Name: "churn", Provider: s.source, Required: true}}, telemetry.Discard{}),
		Compiler: router.NewCompiler(router.Options{
			EntryPoints: doors, Registry: s.registry, Transport: transport, Tickets: certificate.NewTickets(),
		}, target),
		Endpoints: s.registry, Logger: telemetry.Discard{},
	})
	config := new(static.EntryPoint)
	config.SetDefaults()
	config.Address = "127.0.0.1:0"
	config.Transport.LifeCycle.GraceTimeOut = static.Duration(time.Second)
	door, err := entrypoint.New("web", config, target.Handler("web"), nil, entrypoint.Dependencies{
		Logger: telemetry.Discard{}, Sinks: []entrypoint.Sink{&s.records},
	})
	if err == nil {
		err = door.Listen(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	s.address = door.Addr().String()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	run := func(what func(context.Context) error) {
		running.Go(func() {
			if err := what(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	run(s.pipeline.Run)
	run(door.Serve)
	s.stop = sync.OnceFunc(func() { cancel(); running.Wait(); prober.Close() })
	t.Cleanup(s.stop)
	s.source <- dynamic.Message{Configuration: configuration(), Endpoints: []dynamic.EndpointSet{{Key: key}}}
	until(t, "a table", func() bool { return s.pipeline.State().Ready }, func() any { return s.pipeline.State() })
	return s
}

// until waits until something holds, and fails the test with what there is when it does not.
func until(t testing.TB, what string, holds func() bool, is func() any) {
	t.Helper()
	const patience = 2 * time.Minute
	limit := time.NewTimer(patience)
	defer limit.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit.C:
			t.Fatalf("%s: not within %v: %+v", what, patience, is())
		}
	}
}
