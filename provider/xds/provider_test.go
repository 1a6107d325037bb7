package xds_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	typeurl "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/providertest"
	source "github.com/sluiceproxy/sluice/provider/xds"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		s := serveScript(t, map[string]*dynamic.Service{"a@file": servers("192.0.2.1:80"), "b@file": servers("192.0.2.2:80")})
		p, err := source.New(options(s.address, func(config *static.XDSProvider) {
			config.Names = []string{"a@file", "b@file"}
		}), "test", nil, telemetry.Discard{})
		if err != nil {
			t.Fatal(err)
		}
		return providertest.Subject{
			Provider: p,
			Change: func(*testing.T) {
				bundle := bundleOf(t, "a@file", servers("192.0.2.3:80"))
				s.push(typeurl.EndpointType, "a@file", bundle.Assignments[0].Assignment(noSet))
			},
			Break: func(*testing.T) {
				s.push(typeurl.ClusterType, "b@file", odd(bundleOf(t, "b@file", servers()).Clusters[0]))
			},
		}
	})
}

// TestHostsAreDiscovered requests hosts of Kubernetes Services, and follows their endpoints.
func TestHostsAreDiscovered(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	s.set("k/shop/web:80", "192.0.2.1:8080")
	s.set("k/shop/web:81", "192.0.2.1:8081")
	s.publish(nil)
	r := run(t, s.address, nil)
	r.synced()

	got := r.discovers("web.shop", 80)
	if diff := cmp.Diff(&dynamic.Router{
		Rule:    "(Host(`web.shop`) || Host(`web.shop.svc`) || Host(`web.shop.svc.cluster.local`)) && Port(`80`)",
		Service: "web.shop:80",
	}, got.router("web.shop:80")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	const key = "xds/k/shop/web:80"
	if set := got.service("web.shop:80").LoadBalancer.EndpointSet; set != key {
		t.Errorf("the service has the endpoint set %q", set)
	}
	if set := got.sets[key].Endpoints; len(set) != 1 || set[0].Address.String() != "192.0.2.1:8080" {
		t.Errorf("the endpoints are %v", set)
	}
	if got.router("web.shop:81") != nil {
		t.Error("another port is subscribed to")
	}
	before := r.discovers("web.shop", 81)

	s.set("k/shop/web:80", "192.0.2.2:8080", "192.0.2.1:8080")
	r.until("a second endpoint", func(s sent) bool { return len(s.sets[key].Endpoints) == 2 })
	s.set("k/shop/web:80")
	after := r.until("no endpoint", func(s sent) bool { return len(s.sets[key].Endpoints) == 0 })
	if after.configuration != before.configuration {
		t.Error("an endpoint change sends a configuration")
	}

	s.delete("k/shop/web:80")
	r.until("no router", func(s sent) bool { return s.router("web.shop:80") == nil })
	r.unknown("web.shop", 80)
	s.set("k/shop/web:80", "192.0.2.9:8080")
	r.until("the router again", func(s sent) bool { return s.router("web.shop:80") != nil })
	r.discovers("web.shop", 80)
}

// TestNamesOfAService requests a Service by each name that a pod of its namespace can use: there is one listener.
func TestNamesOfAService(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	s.set("k/shop/web:80", "192.0.2.1:8080")
	s.publish(nil)
	r := run(t, s.address, func(config *static.XDSProvider) {
		config.Namespace, config.MaxNames = "shop", 1
		config.Names = []string{"web.shop.svc.cluster.local:80"}
	})
	for _, host := range []string{"web", "web.shop", "web.shop.svc", "web.shop.svc.cluster.local"} {
		if known, err := r.Discover(t.Context(), host, 80); !known || err != nil {
			t.Errorf("%s: known %v, %v", host, known, err)
		}
	}
	got := r.until("the router", func(s sent) bool { return s.router("web.shop:80") != nil })
	const want = "(Host(`web.shop`) || Host(`web.shop.svc`) || Host(`web.shop.svc.cluster.local`) || Host(`web`)) && " +
		"Port(`80`)"
	if rule := got.router("web.shop:80").Rule; rule != want {
		t.Errorf("the rule is %s", rule)
	}
}

// TestUnknownHosts requests hosts that do not exist: the answer comes at once, and most cause no subscription.
func TestUnknownHosts(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	s.publish(nil)
	r := run(t, s.address, nil)
	for _, host := range []string{
		"localhost", "shop.example.com", "192.0.2.1", "a.b.svc", ".shop", "web.", "", "web.shop",
	} {
		r.unknown(host, 80)
	}
}

// TestNamesAreBounded requests more hosts than there may be: those that do not exist make room, the others do not.
func TestNamesAreBounded(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	s.set("k/shop/one:80", "192.0.2.1:8080")
	s.set("k/shop/two:80", "192.0.2.2:8080")
	s.publish(nil)
	r := run(t, s.address, func(config *static.XDSProvider) { config.MaxNames = 2 })
	for i := range 5 {
		r.unknown(fmt.Sprintf("absent-%d.shop", i), 80)
	}
	r.discovers("one.shop", 80)
	r.discovers("two.shop", 80)
	_, err := r.Discover(t.Context(), "three.shop", 80)
	if err == nil || !strings.Contains(err.Error(), "2 listeners are subscribed to (providers.xds.maxNames)") {
		t.Errorf("a third name: %v", err)
	}
	r.discovers("one.shop", 80)
}

// TestManyRequestsWait discovers one host by many requests at once.
func TestManyRequestsWait(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	s.set("k/shop/web:80", "192.0.2.1:8080")
	r := run(t, s.address, nil)
	var waiting sync.WaitGroup
	for range 100 {
		waiting.Go(func() {
			if known, err := r.Discover(t.Context(), "web.shop", 80); !known || err != nil {
				t.Errorf("%v %v", known, err)
			}
		})
	}
	s.publish(nil) // Streams are refused before.
	waiting.Wait()
}

// TestServerIsAway stops the server: what is known stays, /ready has the reason, and requests for unknown hosts get
// an error in time.
func TestServerIsAway(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	s.set("k/shop/web:80", "192.0.2.1:8080")
	s.publish(map[string]*dynamic.Service{"a@file": servers("192.0.2.1:80")})
	r := run(t, s.address, func(config *static.XDSProvider) {
		config.Names, config.Timeout = []string{"a@file"}, static.Duration(50*time.Millisecond)
	})
	r.synced()
	r.until("the host", func(s sent) bool {
		go func() { _, _ = r.Discover(context.WithoutCancel(t.Context()), "web.shop", 80) }()
		return s.router("web.shop:80") != nil
	})
	s.stop()
	last := r.until("the reason", func(s sent) bool { return strings.HasPrefix(s.reason, "what is known stays in use: ") })
	if last.state != dynamic.StateSynced || last.service("a.file") == nil || last.router("web.shop:80") == nil {
		t.Errorf("state %s, service %v", last.state, last.service("a.file"))
	}
	for range 2 {
		if known, err := r.Discover(t.Context(), "other.shop", 80); known || err == nil {
			t.Errorf("a host is known, or is known not to exist, without the server: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Discover(ctx, "third.shop", 80); err == nil {
		t.Error("a request that has ended gets no error")
	}

	again := serve(t, s.address)
	again.set("k/shop/web:80", "192.0.2.2:8080")
	again.publish(map[string]*dynamic.Service{"a@file": servers("192.0.2.9:80")})
	r.until("the new server", func(s sent) bool {
		endpoints := s.sets["xds/k/shop/web:80"].Endpoints
		return s.reason == "" && len(endpoints) == 1 && endpoints[0].Address.String() == "192.0.2.2:8080" &&
			s.service("a.file").LoadBalancer.Servers[0].URL == "http://192.0.2.9:80"
	})
}

// TestStartWithoutServer has no first state until the server is there.
func TestStartWithoutServer(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	s.stop()
	r := run(t, s.address, nil)
	last := r.until("the reason", func(last sent) bool { return strings.Contains(last.reason, s.address) })
	if last.state != dynamic.StatePending || last.configuration != nil {
		t.Errorf("state %s", last.state)
	}
	serve(t, s.address).publish(nil)
	r.synced()
}

// TestIdleHostsAreDropped drops a host without requests, and keeps one with requests and the configured ones.
func TestIdleHostsAreDropped(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	for _, key := range []string{"k/shop/idle:80", "k/shop/busy:80", "k/shop/always:80"} {
		s.set(key, "192.0.2.1:8080")
	}
	s.publish(nil)
	r := run(t, s.address, func(config *static.XDSProvider) {
		config.IdleTimeout, config.Names = static.Duration(3*time.Second), []string{"always.shop:80"}
	})
	r.discovers("idle.shop", 80)
	r.discovers("busy.shop", 80)
	var counting sync.WaitGroup
	done := make(chan struct{})
	counting.Go(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				r.mu.Lock()
				r.counts["busy.shop:80@xds"]++
				r.mu.Unlock()
			}
		}
	})
	defer counting.Wait()
	defer close(done)
	last := r.until("the idle host to be dropped", func(s sent) bool { return s.router("idle.shop:80") == nil })
	if last.router("busy.shop:80") == nil || last.router("always.shop:80") == nil {
		t.Error("a host that is used was dropped")
	}
	r.discovers("idle.shop", 80)
}

// TestKindsOfServices reads services of services.
func TestKindsOfServices(t *testing.T) {
	three, one := 3, 1
	mirroring := &dynamic.Mirroring{Service: "a@file", Mirrors: []dynamic.MirrorService{{Name: "b@file", Percent: 10}}}
	mirroring.SetDefaults()
	s := serve(t, "127.0.0.1:0")
	s.publish(map[string]*dynamic.Service{
		"a@file": servers("192.0.2.1:80"), "b@file": servers("192.0.2.2:80", "192.0.2.3:80"), "c@file": servers(),
		"split@file": {Weighted: &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{
			{Name: "a@file", Weight: &three}, {Name: "b@file", Weight: &one},
		}}},
		"inner@file":  {Failover: &dynamic.Failover{Service: "b@file", Fallback: "c@file"}},
		"outer@file":  {Failover: &dynamic.Failover{Service: "a@file", Fallback: "inner@file"}},
		"mirror@file": {Mirroring: mirroring},
	})
	r := run(t, s.address, func(config *static.XDSProvider) {
		config.Names = []string{"split@file", "outer@file", "mirror@file"}
	})
	got := r.synced()
	for name, want := range map[string]*dynamic.Service{
		"split.file": {Weighted: &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{
			{Name: "split.file/a.file", Weight: &three}, {Name: "split.file/b.file", Weight: &one},
		}}},
		"outer.file":          {Failover: &dynamic.Failover{Service: "outer.file/a.file", Fallback: "outer.file/fallback"}},
		"outer.file/fallback": {Failover: &dynamic.Failover{Service: "outer.file/fallback/b.file", Fallback: "outer.file/fallback/fallback"}},
		"mirror.file": {Mirroring: &dynamic.Mirroring{
			Service: "mirror.file/main", MirrorBody: mirroring.MirrorBody, MaxBodySize: mirroring.MaxBodySize,
			Mirrors: []dynamic.MirrorService{{Name: "mirror.file/mirror/b.file", Percent: 10}},
		}},
	} {
		if diff := cmp.Diff(want, got.service(name)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	if got := got.service("split.file/b.file").LoadBalancer.Servers; len(got) != 2 || got[1].URL != "http://192.0.2.3:80" {
		t.Errorf("the servers are %v", got)
	}
}
