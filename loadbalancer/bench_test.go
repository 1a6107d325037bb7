package loadbalancer

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
)

func manyEndpoints(n int) []dynamic.Endpoint {
	all := make([]dynamic.Endpoint, n)
	address := netip.MustParseAddr("192.0.2.0")
	for i := range all {
		address = address.Next()
		all[i] = dynamic.Endpoint{Address: netip.AddrPortFrom(address, 80), UID: fmt.Sprint("pod-", i)}
	}
	return all
}

func poolOf(endpoints []dynamic.Endpoint) (*Registry, *Pool) {
	registry := NewRegistry(Options{})
	registry.Apply(dynamic.EndpointSet{Key: web, Version: 1, Endpoints: endpoints})
	return registry, registry.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
}

func TestPickAllocatesNothing(t *testing.T) {
	_, pool := poolOf(manyEndpoints(100))
	request := &Request{}
	if allocated := testing.AllocsPerRun(1000, func() {
		member, _ := pool.Acquire(request)
		member.Done(Result{Outcome: Answered})
	}); allocated != 0 {
		t.Errorf("a pick allocates %v times", allocated)
	}
}

// TestLongWayAllocatesNothing picks with cookies, limits, zones and a slow start, which all decide together.
func TestLongWayAllocatesNothing(t *testing.T) {
	b := newRig(t, nil)
	b.SetZone("a")
	b.Apply(zoned(1, map[string]string{"192.0.2.1:80": "a", "192.0.2.2:80": "a"}, nil))
	pool := b.pool(PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}, Policies: Policies{
			Zone: ZoneLocal, Limits: Limits{PerEndpoint: 2}, SlowStart: time.Minute, Sticks: true, Cookie: cookie(t),
			Outlier: detection(t),
		},
	})
	b.pass(FlushInterval)
	b.fails(pool, "192.0.2.1:80", 3)
	b.pass(2 * time.Second)
	equal(t, "warming", pool.Snapshot().warming, true)
	_, set := b.asks(pool, "")
	request := &Request{}
	request.HTTP = stickyRequest(t, "other=1; lb=0123456789abcdef; "+sends(set))
	if allocated := testing.AllocsPerRun(1000, func() {
		request.Now = b.instant()
		member, _ := pool.Acquire(request)
		member.Done(Result{Counted: request.Counted})
	}); allocated != 0 {
		t.Errorf("a pick allocates %v times", allocated)
	}
}

// BenchmarkAcquire is what a request costs its pool: the pick, counting in and counting out.
func BenchmarkAcquire(b *testing.B) {
	for _, n := range []int{1, 10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, pool := poolOf(manyEndpoints(n))
			request := &Request{}
			b.ReportAllocs()
			for b.Loop() {
				member, _ := pool.Acquire(request)
				member.Done(Result{})
			}
		})
	}
}

func BenchmarkAcquireParallel(b *testing.B) {
	_, pool := poolOf(manyEndpoints(1000))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		request := &Request{}
		for pb.Next() {
			member, _ := pool.Acquire(request)
			member.Done(Result{})
		}
	})
}

func BenchmarkAcquireHugeWeights(b *testing.B) {
	var servers []ServerSpec
	for i := range 100 {
		servers = append(servers, inline(fmt.Sprintf("192.0.2.%d:80", i), 1000+i*i*i))
	}
	pool := NewRegistry(Options{}).pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers})
	request := &Request{}
	b.ReportAllocs()
	for b.Loop() {
		member, _ := pool.Acquire(request)
		member.Done(Result{})
	}
}

// BenchmarkApplyOneChange is one pod of many that is replaced, from the message to the published snapshot.
func BenchmarkApplyOneChange(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			one := manyEndpoints(n)
			other := manyEndpoints(n)
			other[n/2].UID = "another"
			registry, _ := poolOf(one)
			now, version := time.Unix(1000, 0), uint64(1)
			b.ReportAllocs()
			for b.Loop() {
				version++
				now = now.Add(time.Second)
				one, other = other, one
				registry.Apply(dynamic.EndpointSet{Key: web, Version: version, Endpoints: one})
				registry.Flush(now)
			}
		})
	}
}

// BenchmarkAllFail has all endpoints of a large pool fail at once, and takes the results in.
func BenchmarkAllFail(b *testing.B) {
	policy, err := outlier.NewPolicy(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	registry := NewRegistry(Options{})
	spec := PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)},
		Policies: Policies{Outlier: policy},
	}
	pool, now := registry.pool(spec), registry.epoch.Add(time.Hour)
	registry.Apply(dynamic.EndpointSet{Key: web, Version: 1, Endpoints: manyEndpoints(10_000)})
	registry.Flush(now)
	for b.Loop() {
		b.StopTimer()
		now = now.Add(24 * time.Hour) // All are back.
		registry.Flush(now)
		now = now.Add(24 * time.Hour)
		registry.Flush(now)
		instant := now.Sub(registry.epoch)
		for member := range pool.Snapshot().Members() {
			for range outlier.DefaultConsecutiveFailures {
				member.upstream.begin()
				member.Done(Result{Outcome: Unreachable, Began: instant, Now: instant})
			}
		}
		b.StartTimer()
		registry.Flush(now)
	}
	b.ReportMetric(float64(len(registry.ejected)), "ejected")
}
