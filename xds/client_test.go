package xds_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	grpcxds "google.golang.org/grpc/xds"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds"
)

// dial returns a gRPC channel to a listener by the resolver of grpc-go.
func (w *world) dial(listener string) client {
	w.t.Helper()
	bootstrap := fmt.Sprintf(`{"xds_servers":[{"server_uri":%q,"channel_creds":[{"type":"insecure"}],`+
		`"server_features":["xds_v3"]}],"node":{"id":%q}}`, w.address, "node-"+w.t.Name())
	resolver, err := grpcxds.NewXDSResolverWithConfigForTesting([]byte(bootstrap))
	if err != nil {
		w.t.Fatal(err)
	}
	channel, err := grpc.NewClient("xds:///"+listener, grpc.WithResolvers(resolver),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = channel.Close() })
	return client{w.t, channel}
}

func servers(strategy string, endpoints ...*backend) *dynamic.Service {
	pool := &dynamic.ServersLoadBalancer{}
	pool.SetDefaults()
	pool.Strategy = strategy
	for _, endpoint := range endpoints {
		one := dynamic.Server{URL: "h2c://" + endpoint.address.String()}
		one.SetDefaults()
		pool.Servers = append(pool.Servers, one)
	}
	return &dynamic.Service{LoadBalancer: pool}
}

// TestCallsFollowEndpoints follows the endpoints of a Kubernetes Service with the client of grpc-go.
func TestCallsFollowEndpoints(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	one, two := startBackend(t), startBackend(t)
	w.set("k/shop/web:80", one.address)
	w.ready()
	for _, name := range []string{"web.shop:80", "web.shop.svc.cluster.local:80"} {
		c := w.dial(name)
		w.set("k/shop/web:80", one.address)
		c.reaches(one)
		w.set("k/shop/web:80", one.address, two.address)
		c.reaches(one, two)
		w.set("k/shop/web:80", two.address)
		c.reaches(two)
		w.set("k/shop/web:80")
		w.set("k/shop/web:80", one.address)
		c.reaches(one)
	}
}

// TestAListenerThatAppears wants calls to wait for a listener that does not exist yet, on a stream with others.
func TestAListenerThatAppears(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	one := startBackend(t)
	w.set("k/shop/web:80", one.address)
	w.ready()
	w.dial("web.shop:80").reaches(one)
	later := w.dial("later.shop:80")
	done := make(chan error, 1)
	go func() {
		_, err := later.call()
		done <- err
	}()
	until(t, "the listener is requested", func() bool {
		for _, client := range w.server.Clients() {
			for _, one := range client.Types {
				if one.Type == "lds" && slices.Contains(one.Names, "later.shop:80") {
					return true
				}
			}
		}
		return false
	})
	w.set("k/shop/later:80", one.address)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestKindsOfServices calls services of files by their names.
func TestKindsOfServices(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	one, two := startBackend(t), startBackend(t)
	down := servers("wrr")
	down.LoadBalancer.Servers = append(down.LoadBalancer.Servers, dynamic.Server{URL: "h2c://127.0.0.1:1"})
	down.LoadBalancer.Servers[0].SetDefaults()
	weight := func(of int) *int { return &of }
	w.services(map[string]*dynamic.Service{
		"one@file": servers("wrr", one), "two@file": servers("leastrequest", two), "both@file": servers("hrw", one, two),
		"down@file": down,
		"split@file": {Weighted: &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{
			{Name: "one", Weight: weight(1)}, {Name: "two", Weight: weight(1)},
		}}},
		"fall@file":    {Failover: &dynamic.Failover{Service: "down", Fallback: "two"}},
		"guarded@file": {LoadBalancer: servers("wrr", one).LoadBalancer, Middlewares: []string{"auth"}},
	})
	w.dial("one@file").reaches(one)
	w.dial("split@file").reaches(one, two)
	w.dial("fall@file").reaches(two)
	if slices.Contains(w.names("lds"), "guarded@file") {
		t.Error("a service with middlewares is published: clients bypass them")
	}
	until(t, "a verdict", func() bool { return len(w.publisher.Verdicts()) > 0 })
	for _, verdict := range w.publisher.Verdicts() {
		if verdict.Ref.Name != "guarded@file" || verdict.Code != dynamic.CodeNotPublished ||
			!strings.Contains(verdict.Reason, "middlewares") {
			t.Errorf("verdict %s", verdict)
		}
	}
	if checked := xds.Unpublished(w.state.Load()); !slices.Equal(checked, w.publisher.Verdicts()) {
		t.Errorf("%v when it is checked, want the same", checked)
	}
}

// TestAQuarantinedServiceIsNotPublished withdraws a service, and those that refer to it, while it is quarantined.
func TestAQuarantinedServiceIsNotPublished(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	one := startBackend(t)
	services := map[string]*dynamic.Service{
		"one@file": servers("wrr", one),
		"top@file": {Mirroring: &dynamic.Mirroring{Service: "one"}},
	}
	w.services(services)
	w.dial("top@file").reaches(one)
	w.services(services, dynamic.Verdict{
		Ref: dynamic.Ref{Kind: dynamic.KindService, Name: "one@file"}, Status: dynamic.Quarantined,
	})
	until(t, "the services are withdrawn", func() bool { return len(w.names("lds")) == 0 })
	if checked := xds.Unpublished(w.state.Load()); !slices.Equal(checked, w.publisher.Verdicts()) {
		t.Errorf("%v when it is checked, want %v", checked, w.publisher.Verdicts())
	}
	w.services(services)
	until(t, "the services are back", func() bool { return len(w.names("lds")) == 2 })
}

// names returns the names of the published resources of a type.
func (w *world) names(kind string) []string {
	w.t.Helper()
	resources, _ := w.server.Resources("")
	var names []string
	for _, one := range resources {
		if one.Type == kind {
			names = append(names, one.Name)
		}
	}
	return names
}

// TestTwoClustersWithOneService publishes the Service of the first cluster, and that of the other one after it.
func TestTwoClustersWithOneService(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	one, two := startBackend(t), startBackend(t)
	w.set("a/shop/web:80", one.address)
	w.set("b/shop/web:80", two.address)
	w.ready()
	c := w.dial("web.shop:80")
	c.reaches(one)
	w.remove("a/shop/web:80")
	c.reaches(two)
	w.remove("b/shop/web:80")
	until(t, "the listeners are gone", func() bool { return len(w.names("lds")) == 0 })
}

// TestASetThatHasNotArrivedIsEmpty publishes a service over an endpoint set that does not exist: calls fail at once,
// and succeed when the set arrives.
func TestASetThatHasNotArrivedIsEmpty(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	one := startBackend(t)
	pool := servers("wrr")
	pool.LoadBalancer.EndpointSet, pool.LoadBalancer.Scheme = "k/shop/late:80", "h2c"
	w.services(map[string]*dynamic.Service{"late@kubernetes": pool})
	c := w.dial("late@kubernetes")
	if err := c.fails(); status.Code(err) != codes.Unavailable {
		t.Errorf("%v, want Unavailable", err)
	}
	w.set("k/shop/late:80", one.address)
	c.reaches(one)
}

// fails returns the error of a call that does not wait for the channel to be ready.
func (c client) fails() error {
	c.t.Helper()
	// grpc-go gives a resource up that does not come within 15 s, and such a call fails as well.
	ctx, cancel := context.WithTimeout(c.t.Context(), 12*time.Second)
	defer cancel()
	_, err := grpc_health_v1.NewHealthClient(c.channel).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err
}
