package balance

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"
)

// TestShares sends many requests to endpoints of different weights. Taking turns gives each its share to within 2 % of
// all requests, and so does drawing by weight and load, within what chance makes of it, while ten requests are in
// flight.
func TestShares(t *testing.T) {
	fleet := startFleet(t, 4)
	weights := map[string]float64{"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
	var weighted []string
	for i, e := range fleet {
		weighted = append(weighted, e.weighing(i+1))
	}
	byKey := func(n int, r *http.Request) { r.Header.Set("X-Key", fmt.Sprint("key-", n)) }
	tests := []struct {
		strategy, options string
		tolerance         float64
		loads             bool
		prepare           func(int, *http.Request)
	}{
		{strategy: "wrr", tolerance: 0.02},
		{strategy: "p2c", tolerance: 0.03, loads: true},
		{strategy: "leastrequest", tolerance: 0.03, loads: true},
		{strategy: "peakewma", tolerance: 0.12, loads: true},
		{strategy: "hash", options: ", hash: {source: header, name: X-Key, boundedLoad: 0}", tolerance: 0.07, prepare: byKey},
	}
	services := site{}
	for _, test := range tests {
		services[test.strategy] = pool("strategy: "+test.strategy+test.options, weighted...)
	}
	p := startProxy(t, services)
	for _, test := range tests {
		var got record
		if test.loads {
			got = p.rounds(t, plan{service: test.strategy}, fleet, 200, 10)
		} else {
			got = p.burst(plan{service: test.strategy, prepare: test.prepare}, 3000, 8)
		}
		if failed := got.failed(); len(failed) > 0 {
			t.Errorf("%s: failed requests: %s", test.strategy, failed)
		}
		by := got.by()
		for name, want := range weights {
			if share := float64(by[name]) / float64(len(got)); math.Abs(share-want) > test.tolerance {
				t.Errorf("%s: %s has a share of %.3f, want %.2f +- %.2f", test.strategy, name, share, want, test.tolerance)
			}
		}
		t.Logf("%s: %v", test.strategy, by)
	}
}

// TestHashKeepsKeys repeats requests with few keys: each has an endpoint of its own, and when an endpoint is removed
// only its keys move.
func TestHashKeepsKeys(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 5)
	const keys = 200
	const options = "strategy: hash, hash: {source: query, name: user, boundedLoad: 0}"
	p := startProxy(t, site{"hash": pool(options, servers(fleet...)...)})
	client := p.client("hash")
	homes := func() []string {
		var all []string
		for key := range keys {
			all = append(all, answeredBy(t, client.Get(fmt.Sprintf("/any?user=%d", key))))
		}
		return all
	}
	before := homes()
	for key, home := range homes() {
		if home != before[key] {
			t.Errorf("key %d moved from %s to %s without a reason", key, before[key], home)
		}
	}
	p.change(site{"hash": pool(options, servers(fleet[1:]...)...)})
	for key, home := range homes() {
		switch before[key] {
		case "a":
			if home == "a" {
				t.Errorf("key %d stays with an endpoint that is gone", key)
			}
		case home:
		default:
			t.Errorf("key %d moved from %s to %s, which both stay", key, before[key], home)
		}
	}
}

// TestSlowEndpoint makes one endpoint in four ten times as slow as the others. With peakewma the slowest requests are
// hardly slower than those to a pool of fast ones alone, which gets the same traffic at the same time.
func TestSlowEndpoint(t *testing.T) {
	fleet := startFleet(t, 7)
	for _, e := range fleet {
		e.delay.Store(int64(40 * time.Millisecond))
	}
	fleet[0].delay.Store(int64(400 * time.Millisecond))
	p := startProxy(t, site{
		"mixed": pool("strategy: peakewma", servers(fleet[:4]...)...),
		"fast":  pool("strategy: peakewma", servers(fleet[4:]...)...),
	})
	mixed, fast := p.send(plan{service: "mixed", rate: 100}), p.send(plan{service: "fast", rate: 100})
	pass(t, 1500*time.Millisecond) // Latencies are unknown at first.
	// A stall of the machine makes all endpoints slow, and sends requests to any of them. It is repeated, also if even the
	// fast ones were slow.
	fastEnough := false
	for range 4 {
		began := time.Now()
		pass(t, 3*time.Second)
		ended := time.Now()
		pass(t, 600*time.Millisecond) // What began last shall be answered.
		all, _ := mixed.so()
		own, _ := fast.so()
		all, own = all.from(began).before(ended), own.from(began).before(ended)
		if failed := all.failed(); len(failed) > 0 {
			t.Errorf("failed requests: %s", failed)
		}
		got, want := all.percentile(0.99), own.percentile(0.99)
		t.Logf("p99 %v with the slow one, %v without; requests by endpoint: %v", got, want, all.by())
		if fastEnough = fastEnough || got <= want*3/2; got <= want*3/2 && want < 200*time.Millisecond {
			return
		}
	}
	if !fastEnough {
		t.Error("p99 stays more than 1.5 x that of the fast ones")
	}
}

// TestFastFailures has one endpoint in four that fails at once while the others take their time. With peakewma it gets
// less than 5 % of the requests after a second, though nothing ejects it.
func TestFastFailures(t *testing.T) {
	fleet := startFleet(t, 4)
	for _, e := range fleet[1:] {
		e.delay.Store(int64(10 * time.Millisecond))
	}
	fleet[0].status.Store(http.StatusInternalServerError)
	p := startProxy(t, site{"pool": pool("strategy: peakewma", servers(fleet...)...)})
	load := p.send(plan{service: "pool", rate: 400})
	pass(t, time.Second)
	// A stall of the machine makes the others slower than they are to be, and is repeated.
	for window := range 4 {
		warm := time.Now()
		pass(t, 3*time.Second)
		ended := time.Now()
		pass(t, 600*time.Millisecond) // What began last shall be answered.
		all, _ := load.so()
		got := all.from(warm).before(ended)
		share := float64(got.by()["a"]) / float64(len(got))
		slowest := got.where(func(a answer) bool { return a.endpoint != "a" }).percentile(0.99)
		t.Logf("share of the endpoint that fails: %.4f of %d; p99 of the others: %v", share, len(got), slowest)
		if share < 0.05 {
			break
		}
		if slowest < 50*time.Millisecond || window == 3 {
			t.Errorf("the endpoint that fails gets %.1f %% of the requests: %v", share*100, got.by())
			break
		}
	}
	load.end()
	if ejections := p.counts("pool")["ejections"]; ejections != 0 {
		t.Errorf("%d ejections by status, which is not configured", ejections)
	}
}
