package balance

import (
	"net/http"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// begin sends a GET in the background, and returns where its answer comes.
func (p *proxy) begin(service string) <-chan harness.Response {
	answers := make(chan harness.Response, 1)
	client := p.client(service)
	go func() {
		response, err := client.Try(client.Request(http.MethodGet, "/", nil))
		if err != nil {
			p.t.Errorf("%s: %v", service, err)
			response.Response = &http.Response{Header: http.Header{}}
		}
		answers <- response
	}()
	return answers
}

// TestLimits fills pools up to their limits. Further requests are refused at once, with a reason in the log, until
// there is room again.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, limits string
		room         int
		reason       string
	}{
		{"per endpoint", "{maxConnections: 2}", 4, "all 2 endpoints are at their limits"},
		{"per pool", "{maxPoolConnections: 3}", 3, "all 2 endpoints are at their limits"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fleet := startFleet(t, 2)
			for _, e := range fleet {
				e.mode.Store(holds)
			}
			p := startProxy(t, site{"pool": pool("limits: "+test.limits, servers(fleet...)...)})
			var inside []<-chan harness.Response
			for range test.room {
				inside = append(inside, p.begin("pool"))
			}
			until(t, "all are inside", func() bool { return arrivals(fleet) == int64(test.room) })
			for n := range 5 {
				if got := p.client("pool").Get("/"); got.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("request %d beyond the limit: status %d", n+1, got.StatusCode)
				}
			}
			p.WaitLog("request failed", "status=503", test.reason)
			if got := p.counts("pool")["saturated"]; got != 5 {
				t.Errorf("%d requests were refused, want 5", got)
			}
			for _, e := range fleet {
				e.released.Store(100)
			}
			for _, answer := range inside {
				answeredBy(t, harness.Await(t, answer, "an answer to a request within the limit"))
			}
			answeredBy(t, p.client("pool").Get("/"))
			for _, e := range fleet {
				if peak := e.peak.Load(); peak > 2 {
					t.Errorf("%s had %d requests at a time", e.name, peak)
				}
			}
		})
	}
}

// TestPending lets requests wait for their turn: in the order in which they came, no more than maxPending of them, and
// no longer than pendingTimeout.
func TestPending(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 2)
	for _, e := range fleet {
		e.mode.Store(holds)
	}
	const short = 300 * time.Millisecond
	p := startProxy(t, site{
		"queue": pool("limits: {maxConnections: 1, maxPending: 3, pendingTimeout: 1m}", fleet[0].server()),
		"short": pool("limits: {maxConnections: 1, maxPending: 3, pendingTimeout: 300ms}", fleet[1].server()),
	})
	first := p.begin("queue")
	until(t, "the first is inside", func() bool { return fleet[0].arrived.Load() == 1 })
	var waiting []<-chan harness.Response
	for n := range 3 {
		waiting = append(waiting, p.begin("queue"))
		p.awaitCount("queue", "waited", n+1)
	}
	if got := p.client("queue").Get("/"); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a request that finds the queue full: status %d", got.StatusCode)
	}
	p.WaitLog("request failed", "status=503", "3 requests wait for an endpoint already")

	for n, answer := range append([]<-chan harness.Response{first}, waiting...) {
		fleet[0].released.Store(int64(n + 1))
		got := harness.Await(t, answer, "an answer in its turn")
		if want := string(rune('1' + n)); got.Header.Get("X-Number") != want {
			t.Errorf("who came as number %s was served as %s", want, got.Header.Get("X-Number"))
		}
	}
	if peak := fleet[0].peak.Load(); peak != 1 {
		t.Errorf("%d requests at a time", peak)
	}

	inside := p.begin("short")
	until(t, "one is inside", func() bool { return fleet[1].arrived.Load() == 1 })
	began := time.Now()
	got := p.client("short").Get("/")
	if took := time.Since(began); got.StatusCode != http.StatusServiceUnavailable || took < short {
		t.Errorf("status %d after %v, want 503 and not before %v", got.StatusCode, took, short)
	}
	p.WaitLog("request failed", "status=503", "no endpoint became free within 300ms")
	fleet[1].released.Store(100)
	answeredBy(t, harness.Await(t, inside, "the answer to the one inside"))
}
