package balance

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const quickly = "healthCheck: {path: /health, interval: 50ms}"

// from sends one request to a service, from another address of loopback, and returns the endpoint.
func (p *proxy) from(address, service string) string {
	p.t.Helper()
	client := p.client(service)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	client.Transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, p.web)
	}
	defer client.Transport.CloseIdleConnections()
	return answeredBy(p.t, client.Get("/"))
}

// TestFailover uses the fallback while the main service is down, and for the configured statuses.
func TestFailover(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 2)
	p := startProxy(t, site{
		"main":     pool(quickly, fleet[0].server()),
		"spare":    pool("", fleet[1].server()),
		"health":   "{failover: {service: main, fallback: spare, healthCheck: {}}}",
		"status":   `{failover: {service: plain, fallback: spare, errors: {status: ["500-599"]}}}`,
		"plain":    pool("", fleet[0].server()),
		"outright": "{failover: {service: plain, fallback: spare}}",
	})
	health := p.client("health")
	expect := func(want string) {
		t.Helper()
		until(t, want+" answers", func() bool { return answeredBy(t, health.Get("/")) == want })
	}
	expect("a")
	fleet[0].health.Store(http.StatusServiceUnavailable)
	expect("b")
	fleet[0].health.Store(http.StatusOK)
	expect("a")

	fleet[0].status.Store(http.StatusServiceUnavailable)
	got := p.client("status").Post("/path", "the whole body")
	if name := answeredBy(t, got); name != "b" || got.Text != "POST /path the whole body" ||
		len(got.Header.Values("X-Endpoint")) != 1 {
		t.Errorf("on status: %s answers %q, %v", name, got.Text, got.Header)
	}
	if got := p.client("outright").Get("/"); got.StatusCode != http.StatusServiceUnavailable ||
		got.Header.Get("X-Endpoint") != "a" {
		t.Errorf("without errors: status %d from %s", got.StatusCode, got.Header.Get("X-Endpoint"))
	}
	fleet[0].status.Store(http.StatusNotFound)
	if got := p.client("status").Get("/"); got.StatusCode != http.StatusNotFound {
		t.Errorf("a status that is not listed becomes %d", got.StatusCode)
	}
}

// TestMirroring copies every request to an endpoint that never answers: the copies arrive, and clients of the main
// service wait no longer than those of a service without a mirror.
func TestMirroring(t *testing.T) {
	t.Parallel()
	const requests = 150
	fleet := startFleet(t, 2)
	fleet[0].delay.Store(int64(5 * time.Millisecond))
	fleet[1].mode.Store(hangs)
	p := startProxy(t, site{
		"main": pool("", fleet[0].server()), "copy": pool(noRetry+", "+noOutlier, fleet[1].server()),
		"mirrored": "{mirroring: {service: main, mirrors: [{name: copy, percent: 100}]}}",
	})
	results := make(chan record, 1)
	go func() {
		results <- p.burst(plan{service: "main", method: http.MethodPost, body: "a body"}, requests, 1)
	}()
	mirrored := p.burst(plan{service: "mirrored", method: http.MethodPost, body: "a body"}, requests, 1)
	plain := harness.Await(t, results, "the requests without a mirror")
	for _, r := range []record{plain, mirrored} {
		if failed := r.failed(); len(failed) > 0 || r.by()["a"] != requests {
			t.Errorf("failed requests: %s; %v", failed, r.by())
		}
	}
	got, want := mirrored.percentile(0.9), plain.percentile(0.9)
	t.Logf("p90 %v with a mirror that hangs, %v without", got, want)
	if got > 3*want {
		t.Errorf("p90 is %v with a mirror that hangs, %v without one", got, want)
	}
	until(t, "all copies arrive", func() bool { return fleet[1].arrived.Load() == requests })
}

// TestWeighted shares clients between two pools by weight, and keeps each where it was first: at the pool, and at the
// endpoint in it.
func TestWeighted(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 3)
	p := startProxy(t, site{
		"one": pool("", fleet[0].server()), "two": pool("sticky: {cookie: {name: inner}}", servers(fleet[1:]...)...),
		"split": "{weighted: {services: [{name: one, weight: 3}, {name: two, weight: 1}], sticky: {cookie: {name: outer}}}}",
	})
	counts := map[string]int{}
	for range 40 {
		b := p.browser("split")
		name, cookies := b.visit()
		child := map[string]string{"a": "one"}[name]
		wanted := 1
		if child == "" {
			child, wanted = "two", 2
		}
		counts[child]++
		if b.cookies["outer"] != valueOf(child) && b.cookies["outer"] != valueOf(child+"@file") || len(cookies) != wanted {
			t.Errorf("%s answers, the cookies are %v", name, cookies)
		}
		b.expect("a client that has been here", name)
	}
	if counts["one"] != 30 {
		t.Errorf("new clients were shared %v, want 30 to 10", counts)
	}
}

// TestHighestRandomWeight sends each client address to one of two services, always the same one, and both of them get
// some.
func TestHighestRandomWeight(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 2)
	p := startProxy(t, site{
		"one": pool("", fleet[0].server()), "two": pool("", fleet[1].server()),
		"hrw": "{highestRandomWeight: {services: [{name: one, weight: 1}, {name: two, weight: 1}]}}",
	})
	homes := map[string]int{}
	for client := range 40 {
		address := fmt.Sprintf("127.0.7.%d", client+1)
		home := p.from(address, "hrw")
		homes[home]++
		for range 2 {
			if again := p.from(address, "hrw"); again != home {
				t.Errorf("%s went to %s and then to %s", address, home, again)
			}
		}
	}
	if homes["a"] < 8 || homes["b"] < 8 {
		t.Errorf("the clients went to %v", homes)
	}
}

// TestNested lets health travel up through services of services: a branch that is down is passed over, and when all of
// them are the fallback at the top answers.
func TestNested(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 3)
	p := startProxy(t, site{
		"one": pool(quickly, fleet[0].server()), "two": pool(quickly, fleet[1].server()),
		"three": pool(quickly, fleet[2].server()),
		"split": "{weighted: {healthCheck: {}, services: [{name: one, weight: 1}, {name: two, weight: 1}]}}",
		"top":   "{failover: {healthCheck: {}, service: split, fallback: three}}",
	})
	client := p.client("top")
	expect := func(when string, want map[string]int) {
		t.Helper()
		until(t, when, func() bool {
			got := map[string]int{}
			for range 4 {
				got[answeredBy(t, client.Get("/"))]++
			}
			return fmt.Sprint(got) == fmt.Sprint(want)
		})
	}
	expect("both branches answer", map[string]int{"a": 2, "b": 2})
	fleet[0].health.Store(http.StatusServiceUnavailable)
	expect("the branch that is up answers", map[string]int{"b": 4})
	fleet[1].health.Store(http.StatusServiceUnavailable)
	expect("the fallback answers", map[string]int{"c": 4})
	fleet[0].health.Store(http.StatusOK)
	expect("a branch has recovered", map[string]int{"a": 4})
}
