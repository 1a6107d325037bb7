package middleware

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
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
	// changes is how many times a request waits for a goroutine or a process to run, about.
	changes = 6
)

// limits are two middlewares with one Redis: one whose rate can be measured, and one that can be counted.
const limits = `
http:
  routers:
    quick: {rule: "PathPrefix(` + "`/quick`" + `)", service: one, middlewares: [quick]}
    hourly: {rule: "PathPrefix(` + "`/hourly`" + `)", service: one, middlewares: [hourly]}
    free: {rule: "PathPrefix(` + "`/free`" + `)", service: one}
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
	faults    *faults
	redis     *redistest.Server
	processes [2]*harness.Sluice
	clients   [2]*harness.Client
	pings     *pings
	// stalled ends the measurement of how long the machine kept this process or Redis from running, and returns the
	// longest time.
	stalled func() time.Duration
}

func startPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{faults: new(faults), redis: redistest.Start(t)}
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
	stop := harness.Stalls(t)
	p.pings = &pings{address: p.redis.Address}
	p.pings.start(t)
	p.stalled = sync.OnceValue(func() time.Duration {
		p.pings.stop()
		return max(stop(), p.pings.slowest)
	})
	t.Cleanup(func() { p.stalled() })
	return p
}

// pings are PING commands to Redis every 10 ms, past Sluice.
type pings struct {
	address string
	// slowest is the longest time until an answer, to be read after stop.
	slowest time.Duration
	stop    func()
}

// start begins on a new connection. Redis must be there until stop.
func (p *pings) start(t *testing.T) {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			began := time.Now()
			_ = connection.SetDeadline(began.Add(time.Minute))
			_, _ = io.WriteString(connection, "PING\r\n")
			if _, err := connection.Read(make([]byte, len("+PONG\r\n"))); err != nil {
				if t.Context().Err() == nil {
					t.Errorf("PING: %v", err)
				}
				return
			}
			p.slowest = max(p.slowest, time.Since(began))
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	})
	p.stop = sync.OnceFunc(func() { close(done); running.Wait(); _ = connection.Close() })
}

// faults are what is wrong with a pair.
type faults struct {
	mutex sync.Mutex
	all   []string
}

func (f *faults) add(format string, values ...any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.all = append(f.all, fmt.Sprintf(format, values...))
}

// losses returns how often each process has lost Redis.
func (p *pair) losses() (n [2]int) {
	for i, s := range p.processes {
		n[i] = strings.Count(s.Log.String(), "Redis is lost")
	}
	return n
}

// withPair tests a pair that shall lose Redis so many times. A machine that keeps Redis from answering for 300 ms makes
// a process lose it once more, and decide alone: after a stall of nearly that, another pair is tested, at most three
// times.
func withPair(t *testing.T, losses int, test func(p *pair)) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		p := startPair(t)
		test(p)
		if len(p.faults.all) == 0 {
			return
		}
		stalled := p.stalled()
		if n := p.losses(); attempt < 4 && n != [2]int{losses, losses} && stalled >= 200*time.Millisecond {
			t.Logf("Redis was lost %v times, want %d, and the machine stood still for %v: once more, in spite of %q", n, losses,
				stalled, p.faults.all)
			continue
		}
		for _, fault := range p.faults.all {
			t.Error(fault)
		}
		return
	}
}

// TestRedisHoldsOneLimit has two processes hold one limit, exactly where no time passes and within 2 % where it does.
func TestRedisHoldsOneLimit(t *testing.T) {
	withPair(t, 0, func(p *pair) { p.holdsOneLimit(t) })
}

func (p *pair) holdsOneLimit(t *testing.T) {
	t.Helper()
	p.expectOneLimit(t, "one")
	// A machine that is busy with something else may delay an end, or send less than passes; a wrong limit stays wrong.
	off, measured := 0.0, 0
	for round := 0; round < 20 && measured < 3; round++ {
		got, want, refused := p.measure(t, fmt.Sprint("round ", round))
		t.Logf("%.0f requests passed, %.1f may; %d did not", got, want, refused)
		if refused == 0 && got < 1.02*want {
			continue
		}
		measured++
		if off = 100 * (got/want - 1); math.Abs(off) < 2 {
			break
		}
	}
	if measured == 0 || math.Abs(off) >= 2 {
		p.faults.add("after %d rounds with more requests than pass, the rate is off by %+.2f %%", measured, off)
	}
	for i, s := range p.processes {
		if found := ask(t, s); found.api["quick@file"].Counts["local"]+found.api["hourly@file"].Counts["local"] != 0 {
			p.faults.add("process %d decided alone: %+v", i, found.api)
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
		p.faults.add("key %q: %d and %d requests passed, want %d together", key, n[0], n[1], hourly)
	}
}

// measure sends requests through both processes for two seconds, and returns how many passed, how many may, and how
// many did not.
func (p *pair) measure(t *testing.T, key string) (got, want float64, not int64) {
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
	if through[0].Load() == 0 || through[1].Load() == 0 {
		t.Errorf("%d and %d passed", through[0].Load(), through[1].Load())
	}
	return float64(through[0].Load() + through[1].Load()), burst + perSecond*took, refused.Load()
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
			withPair(t, 1, func(p *pair) {
				p.losesRedis(t, func() { test.take(p.redis) }, func() { test.give(p.redis) })
			})
		})
	}
}

// losesRedis takes Redis away and gives it back.
func (p *pair) losesRedis(t *testing.T, take, give func()) {
	t.Helper()
	stop := p.traffic(t)
	defer stop()
	p.expectOneLimit(t, "before")
	p.pings.stop()
	take()
	for _, s := range p.processes {
		s.WaitLog("Redis is lost")
	}
	for i, client := range p.clients {
		if n := passed(t, client, 2*hourly, http.StatusTooManyRequests, "/hourly", "X-Key: meanwhile"); n != hourly {
			p.faults.add("process %d alone let %d requests pass, want %d", i, n, hourly)
		}
		p.expectLost(t, i)
	}
	give()
	p.pings.start(t)
	for _, s := range p.processes {
		s.WaitLog("Redis is back")
	}
	p.expectOneLimit(t, "after")
	stop()
	for i, s := range p.processes {
		for _, words := range []string{"Redis is lost", "Redis is back"} {
			if n := strings.Count(s.Log.String(), words); n != 1 {
				p.faults.add("process %d: %d lines say that %s:\n%s", i, n, words, s.Log)
			}
		}
	}
}

// expectLost looks for the loss in API and metrics.
func (p *pair) expectLost(t *testing.T, i int) {
	t.Helper()
	found := ask(t, p.processes[i])
	entry := found.api["hourly@file"]
	if len(entry.Owners) != 1 || entry.Owners[0].State != "redis_lost" || entry.Counts["local"] < 2*hourly {
		p.faults.add("process %d: /api/middlewares says %+v", i, entry)
	}
	if got := found.line(`sluice_middleware_states{middleware="hourly@file",state="redis_lost"}`); got != "1" {
		p.faults.add("process %d: the metric of the state is %q\n%s", i, got, found.metrics)
	}
}

// traffic sends requests through both processes until stop is called. Each is answered by the endpoint or the limit
// within a second, beyond what the machine may hold it up.
func (p *pair) traffic(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var limited, free [2]time.Duration
	for i, client := range p.clients {
		group.Go(func() { limited[i] = slowest(ctx, t, client, "/quick") })
		group.Go(func() { free[i] = slowest(ctx, t, client, "/free") })
	}
	return sync.OnceFunc(func() {
		cancel()
		group.Wait()
		stalled := p.stalled()
		for i := range p.processes {
			t.Logf("process %d: the slowest answer took %v, without a limit %v; the machine stood still for %v", i, limited[i],
				free[i], stalled)
			if max(limited[i], free[i]) > time.Second+changes*stalled {
				p.faults.add("process %d: a request took %v, without a limit %v; the machine stood still for %v", i, limited[i],
					free[i], stalled)
			}
		}
	})
}

// slowest sends requests one after another until the context ends, and returns the longest time until an answer.
func slowest(ctx context.Context, t *testing.T, client *harness.Client, path string) (longest time.Duration) {
	t.Helper()
	ticker := time.NewTicker(3 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		status, err := try(client, path, fmt.Sprint("X-Key: traffic ", n%10))
		if status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Errorf("%s: status %d, %v", path, status, err)
		}
		longest = max(longest, time.Since(began))
		<-ticker.C
	}
	return longest
}
