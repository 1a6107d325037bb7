package middleware

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis/redistest"
)

const (
	// perSecond and burst are the limit whose rate is measured.
	perSecond, burst = 100, 100
	// hourly is how many requests of one source pass in the hour that a test does not take.
	hourly = 20
)

// limits are two middlewares with one Redis: one whose rate can be measured, and one that can be counted.
const limits = `
http:
  routers:
    quick: {rule: "PathPrefix(` + "`/quick`" + `)", service: one, middlewares: [quick]}
    hourly: {rule: "PathPrefix(` + "`/hourly`" + `)", service: one, middlewares: [hourly]}
  middlewares:
    quick:
      rateLimit: {average: 100, burst: 100, sourceCriterion: {requestHeaderName: X-Key},
        redis: {endpoints: ["${REDIS}"]}}
    hourly:
      rateLimit: {average: 1, period: 1h, burst: 20, sourceCriterion: {requestHeaderName: X-Key},
        redis: {endpoints: ["${REDIS}"]}}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
`

// pair is two processes that share one Redis, each with a client.
type pair struct {
	redis     *redistest.Server
	processes [2]*harness.Sluice
	clients   [2]*harness.Client
}

func startPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{redis: redistest.Start(t)}
	backend := harness.StartBackend(t, "one", nil)
	for i := range p.processes {
		p.processes[i] = harness.Start(t, harness.Setup{
			Static: static, Dynamic: map[string]string{"limits.yaml": limits},
			Vars: map[string]string{"REDIS": p.redis.Address, "BACKEND": backend.H1},
		})
		p.clients[i] = harness.NewClient(t, harness.H1, p.processes[i].Addr("web"), "any.test", nil)
		if got := get(t, p.clients[i], "/hourly", "X-Key: warm"); got != http.StatusOK { // It connects, and loads the script.
			t.Fatalf("the first request: status %d", got)
		}
	}
	return p
}

// TestRedisHoldsOneLimit has two processes hold one limit, exactly where no time passes and within 2 % where it does.
func TestRedisHoldsOneLimit(t *testing.T) {
	p := startPair(t)
	p.expectOneLimit(t, "one")
	var off float64
	for round := range 3 { // A machine that is busy with something else may delay an end; a wrong limit stays wrong.
		got, want := p.measure(t, fmt.Sprint("round ", round))
		off = 100 * (got/want - 1)
		t.Logf("%.0f requests passed, %.1f may: %+.2f %%", got, want, off)
		if math.Abs(off) < 2 {
			break
		}
	}
	if math.Abs(off) >= 2 {
		t.Errorf("the rate is off by %+.2f %%", off)
	}
	for i, s := range p.processes {
		if found := ask(t, s); found.api["quick@file"].Counts["local"]+found.api["hourly@file"].Counts["local"] != 0 {
			t.Errorf("process %d decided alone: %+v", i, found.api)
		}
	}
}

// expectOneLimit sends more than the limit through both processes in turn: together they let through what one would.
func (p *pair) expectOneLimit(t *testing.T, key string) {
	t.Helper()
	n := [2]int{}
	for range hourly {
		for i, client := range p.clients {
			n[i] += passed(t, client, 1, http.StatusTooManyRequests, "/hourly", "X-Key: "+key)
		}
	}
	if n[0]+n[1] != hourly || n[0] == 0 || n[1] == 0 {
		t.Errorf("key %q: %d and %d requests passed, want %d together", key, n[0], n[1], hourly)
	}
}

// measure sends requests through both processes for two seconds, and returns how many passed and how many may.
func (p *pair) measure(t *testing.T, key string) (got, want float64) {
	t.Helper()
	var through [2]atomic.Int64
	var refused atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for i := range p.clients {
		for range 2 {
			group.Go(func() {
				for time.Since(began) < 2*time.Second {
					switch status, err := try(p.clients[i], "/quick", "X-Key: "+key); status {
					case http.StatusOK:
						through[i].Add(1)
					case http.StatusTooManyRequests:
						refused.Add(1)
					default:
						t.Errorf("status %d, %v", status, err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	took := time.Since(began).Seconds()
	if through[0].Load() == 0 || through[1].Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d and %d passed, and %d did not: nothing was measured", through[0].Load(), through[1].Load(),
			refused.Load())
	}
	return float64(through[0].Load() + through[1].Load()), burst + perSecond*took
}

// TestRedisIsLost stops Redis during requests, and starts it again: meanwhile each process applies the limit alone, no
// request is delayed for long, and each log has one line.
func TestRedisIsLost(t *testing.T) {
	for _, test := range []struct {
		name       string
		take, give func(*redistest.Server)
	}{
		{"killed", (*redistest.Server).Kill, (*redistest.Server).Restart},
		{"stopped", (*redistest.Server).Stop, (*redistest.Server).Continue},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := startPair(t)
			stop := p.traffic(t)
			p.expectOneLimit(t, "before")
			test.take(p.redis)
			for _, s := range p.processes {
				s.WaitLog("Redis is lost")
			}
			for i, client := range p.clients {
				if n := passed(t, client, 2*hourly, http.StatusTooManyRequests, "/hourly", "X-Key: meanwhile"); n != hourly {
					t.Errorf("process %d alone let %d requests pass, want %d", i, n, hourly)
				}
				p.expectLost(t, i)
			}
			test.give(p.redis)
			for _, s := range p.processes {
				s.WaitLog("Redis is back")
			}
			p.expectOneLimit(t, "after")
			stop()
			for i, s := range p.processes {
				for _, words := range []string{"Redis is lost", "Redis is back"} {
					if n := strings.Count(s.Log.String(), words); n != 1 {
						t.Errorf("process %d: %d lines say that %s:\n%s", i, n, words, s.Log)
					}
				}
			}
		})
	}
}

// expectLost looks for the loss in API and metrics.
func (p *pair) expectLost(t *testing.T, i int) {
	t.Helper()
	found := ask(t, p.processes[i])
	entry := found.api["hourly@file"]
	if len(entry.Owners) != 1 || entry.Owners[0].State != "redis_lost" || entry.Counts["local"] < 2*hourly {
		t.Errorf("process %d: /api/middlewares says %+v", i, entry)
	}
	if got := found.line(`sluice_middleware_states{middleware="hourly@file",state="redis_lost"}`); got != "1" {
		t.Errorf("process %d: the metric of the state is %q\n%s", i, got, found.metrics)
	}
}

// traffic sends requests through both processes until stop is called. Each is answered by the endpoint or the limit
// within a second.
func (p *pair) traffic(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i, client := range p.clients {
		group.Go(func() {
			ticker := time.NewTicker(3 * time.Millisecond)
			defer ticker.Stop()
			slowest := time.Duration(0)
			for n := 0; ctx.Err() == nil; n++ {
				began := time.Now()
				status, err := try(client, "/quick", fmt.Sprint("X-Key: traffic ", n%10))
				if status != http.StatusOK && status != http.StatusTooManyRequests {
					t.Errorf("process %d: status %d, %v", i, status, err)
				}
				slowest = max(slowest, time.Since(began))
				<-ticker.C
			}
			t.Logf("process %d: the slowest answer took %v", i, slowest)
			if slowest > time.Second {
				t.Errorf("process %d: a request took %v", i, slowest)
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
	}
}
