package circuitbreaker

import (
	"context"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// rig is a breaker around a service that answers with a status.
type rig struct {
	t       *testing.T
	breaker *breaker
	handler http.Handler
	log     *lines
	status  atomic.Int32
	asked   atomic.Int32
}

func newRig(t *testing.T, config dynamic.CircuitBreaker) *rig {
	t.Helper()
	g := &rig{t: t, log: new(lines)}
	g.breaker = build(t, config, g.log).For("router web@file").(*breaker)
	g.handler = g.breaker.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		g.asked.Add(1)
		w.WriteHeader(int(g.status.Load()))
	}))
	return g
}

// expect sends a request to a service that answers with a status, and checks the result.
func (g *rig) expect(service, want int, state string) {
	g.t.Helper()
	g.status.Store(int32(service))
	status, reason := ask(g.t, g.handler)
	if status != want {
		g.t.Errorf("%v after the beginning the answer is %d, want %d", g.breaker.now(), status, want)
	}
	g.stands(state)
	if refused := status != service; refused != (reason != "") || refused &&
		reason != "middleware careful@file: the circuit breaker of router web@file is "+state {
		g.t.Errorf("%v after the beginning the reason is %q", g.breaker.now(), reason)
	}
}

func (g *rig) stands(state string) {
	g.t.Helper()
	if got, _ := g.breaker.Status(); got != state {
		g.t.Errorf("%v after the beginning the state is %s, want %s", g.breaker.now(), got, state)
	}
}

// logged compares the lines since the last call.
func (g *rig) logged(want ...string) {
	g.t.Helper()
	if diff := cmp.Diff(want, g.log.taken()); diff != "" {
		g.t.Errorf("%v after the beginning the log is: %s", g.breaker.now(), diff)
	}
}

// later lets time pass.
func later(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-ctx.Done()
}

func TestAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, dynamic.CircuitBreaker{Expression: onErrors})
		g.expect(200, 200, standby)
		later(t, time.Second)
		g.expect(502, 502, standby) // one of two is no more than a half
		later(t, time.Second)
		g.expect(502, 502, tripped)
		g.logged("warn circuit breaker has tripped middleware=careful@file owner=router web@file " +
			"figures=NetworkErrorRatio() is 0.6667 for=10s")
		g.expect(200, 503, tripped)
		later(t, 10*time.Second-1)
		g.expect(200, 503, tripped)
		later(t, 1)
		g.stands(recovering) // before any request
		g.expect(504, 504, tripped)
		g.logged("debug circuit breaker has tripped again middleware=careful@file owner=router web@file " +
			"figures=NetworkErrorRatio() is 1 for=10s")
		later(t, 15*time.Second)
		g.expect(200, 200, recovering)
		g.expect(200, 503, recovering)
		g.logged()
		later(t, 9*time.Second)
		g.stands(recovering)
		later(t, time.Second)
		g.stands(standby)
		g.logged() // no request
		g.expect(200, 200, standby)
		g.logged("info circuit breaker has recovered middleware=careful@file owner=router web@file after=35s trips=2 " +
			"refused=3")
		if diff := cmp.Diff(map[string]uint64{"tripped": 2, "recovered": 1, "refused": 3},
			g.breaker.definition.Counts()); diff != "" {
			t.Error(diff)
		}
		// What a recovery counted counts on, so that another outage begins with more than one failure.
		g.expect(502, 502, standby)
		g.logged()
	})
}

func TestCheckPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, dynamic.CircuitBreaker{Expression: onErrors, CheckPeriod: ptypes.Duration(5 * time.Second)})
		g.expect(200, 200, standby)
		for range 4 {
			later(t, time.Second)
			g.expect(502, 502, standby)
		}
		later(t, time.Second)
		g.expect(502, 502, tripped)
	})
}

func TestRequestThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t,
			dynamic.CircuitBreaker{
				Expression:   "ResponseCodeRatio(500, 600, 0, 600) > 0.30 && RequestThreshold() >= 20",
				ResponseCode: 429,
			})
		for range 30 { // never more than ten at a time
			g.expect(500, 500, standby)
			later(t, time.Second)
		}
		for range 9 {
			g.expect(500, 500, standby)
			later(t, 100*time.Millisecond)
		}
		for state, n := standby, 0; state == standby; n++ {
			g.status.Store(500)
			_, _ = ask(t, g.handler)
			if state, _ = g.breaker.Status(); n > 20 {
				t.Fatal("it does not trip")
			}
			later(t, 100*time.Millisecond)
		}
		if requests := g.asked.Load(); requests < 39+1 {
			t.Errorf("it tripped after %d requests", requests)
		}
		g.expect(200, 429, tripped)
	})
}

// TestDurationsWithoutEnd trips a breaker for ever.
func TestDurationsWithoutEnd(t *testing.T) {
	g := newRig(t, dynamic.CircuitBreaker{
		Expression: onErrors, CheckPeriod: math.MaxInt64, FallbackDuration: math.MaxInt64, RecoveryDuration: math.MaxInt64,
	})
	g.expect(502, 502, tripped)
	g.expect(200, 503, tripped)
}

// TestRecoveryIsLinear sends requests at several rates, and compares the share that passes with the line.
func TestRecoveryIsLinear(t *testing.T) {
	for name, gaps := range map[string][]time.Duration{
		"200/s": {5 * time.Millisecond}, "70/s": {14 * time.Millisecond}, "bursts": {
			0, 0, 0, 0, 0, 0, 0, 0, 0,
			50 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, dynamic.CircuitBreaker{Expression: onErrors, RecoveryDuration: ptypes.Duration(100 * time.Second)})
				g.expect(502, 502, tripped)
				later(t, 10*time.Second)
				g.status.Store(200)
				begin := g.breaker.now()
				var sent, passed [10]float64
				for i := 0; ; i++ {
					since := g.breaker.now() - begin
					tenth := int(since / (10 * time.Second))
					if tenth > 9 {
						break
					}
					sent[tenth]++
					if status, _ := ask(t, g.handler); status == 200 {
						passed[tenth]++
					}
					later(t, gaps[i%len(gaps)])
				}
				for tenth := range sent {
					share, want := passed[tenth]/sent[tenth], (float64(tenth)+0.5)/10
					if sent[tenth] < 100 || math.Abs(share-want) > 0.01 {
						t.Errorf("of %v requests in tenth %d a share of %.3f passes, want %.3f", sent[tenth], tenth, share, want)
					}
				}
			})
		})
	}
}

func TestRecoveryIsSpread(t *testing.T) {
	p := &phase{from: 0, until: time.Second}
	p.credit.Store(1<<32 - 1)
	last := 0
	for i := range 1000 {
		if p.admits(500 * time.Millisecond) {
			if i > 0 && i-last != 2 && i != 1 && i != 2 {
				t.Errorf("requests %d and %d pass, and none between", last, i)
			}
			last = i
		}
	}
	if last < 998 {
		t.Errorf("after %d none passes", last)
	}
}

func TestQuietServicesGetTheirFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, dynamic.CircuitBreaker{Expression: onErrors})
		g.expect(502, 502, tripped)
		for range 3 { // an hour apart: each is the first of a recovery
			later(t, time.Hour)
			g.expect(502, 502, tripped)
		}
		later(t, time.Hour)
		g.expect(200, 200, recovering)
		later(t, time.Hour)
		g.expect(200, 200, standby)
	})
}

// TestResultsOfEarlierRequestsAreIgnored answers a request long after the breaker has tripped.
func TestResultsOfEarlierRequestsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, dynamic.CircuitBreaker{Expression: onErrors})
		release := make(chan struct{})
		slow := g.breaker.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-release
			w.WriteHeader(http.StatusGatewayTimeout)
		}))
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { _, _ = ask(t, slow) })
		}
		synctest.Wait()
		g.expect(502, 502, tripped)
		later(t, 10*time.Second)
		g.expect(200, 200, recovering)
		close(release)
		all.Wait()
		g.stands(recovering)
		later(t, 5*time.Second)
		_, _ = ask(t, g.handler)
		g.stands(recovering)
	})
}

// TestFailuresBeforeTheEndOfARecovery lets a recovery end before its last failures are checked.
func TestFailuresBeforeTheEndOfARecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, dynamic.CircuitBreaker{Expression: onErrors, CheckPeriod: ptypes.Duration(time.Minute)})
		g.expect(502, 502, tripped)
		later(t, 10*time.Second)
		g.expect(200, 200, recovering)
		later(t, 9*time.Second)
		for range 10 {
			g.status.Store(502)
			_, _ = ask(t, g.handler)
		}
		g.stands(recovering)
		later(t, time.Second)
		g.expect(200, 503, tripped)
	})
}

// TestManyAtOnce sends concurrent requests while the breaker changes its state: it must not race, lose a count or log
// twice.
func TestManyAtOnce(t *testing.T) {
	log := new(lines)
	c := build(t, dynamic.CircuitBreaker{
		Expression: onErrors + " || LatencyAtQuantileMS(50.0) > 60000", CheckPeriod: 1,
		FallbackDuration: ptypes.Duration(200 * time.Microsecond),
		RecoveryDuration: ptypes.Duration(200 * time.Microsecond), Shared: true,
	}, log)
	var asked, refused atomic.Uint64
	handler := c.For("router web@file").Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		status := http.StatusOK
		if r.Header.Get("Fail") != "" {
			status = http.StatusBadGateway
		}
		w.WriteHeader(status)
	}))
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			r := middlewaretest.Request(t, "GET /")
			for i := range 3000 {
				r.Header.Del("Fail")
				if (i/300+n)%2 == 0 {
					r.Header.Set("Fail", "yes")
				}
				w := new(middlewaretest.Writer)
				handler.ServeHTTP(w, r)
				if w.Status == http.StatusServiceUnavailable {
					refused.Add(1)
				}
				if state, _ := c.shared.Status(); state == "" {
					t.Error("no state")
				}
				if i%100 == 0 {
					c.Counts()
				}
			}
		})
	}
	all.Wait()
	counts := c.Counts()
	if asked.Load()+refused.Load() != 8*3000 || counts["refused"] != refused.Load() || counts["tripped"] == 0 ||
		asked.Load() == 0 {
		t.Errorf("%d passed, %d refused, counted %v", asked.Load(), refused.Load(), counts)
	}
	trips, ends := uint64(0), uint64(0)
	for _, line := range log.taken() {
		switch line[:4] {
		case "warn", "debu":
			trips++
		case "info":
			ends++
		}
	}
	if trips != counts["tripped"] || ends != counts["recovered"] {
		t.Errorf("logged %d and %d times, counted %v", trips, ends, counts)
	}
}

func BenchmarkPasses(b *testing.B) {
	for name, expression := range map[string]string{
		"errors": onErrors, "codes": "ResponseCodeRatio(500, 600, 0, 600) > 0.5 && RequestThreshold() > 10",
		"latency": "LatencyAtQuantileMS(50.0) > 100",
	} {
		b.Run(name, func(b *testing.B) {
			handler := build(b, dynamic.CircuitBreaker{Expression: expression},
				nil).For("router web@file").Wrap(answering(http.StatusOK))
			w, r := new(middlewaretest.Writer), middlewaretest.Request(b, "GET /")
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
		b.Run(name+" on all cores", func(b *testing.B) {
			handler := build(b, dynamic.CircuitBreaker{Expression: expression},
				nil).For("router web@file").Wrap(answering(http.StatusOK))
			b.ReportAllocs()
			b.RunParallel(func(turn *testing.PB) {
				w, r := new(middlewaretest.Writer), middlewaretest.Request(b, "GET /")
				for turn.Next() {
					handler.ServeHTTP(w, r)
				}
			})
		})
	}
}

func BenchmarkRefuses(b *testing.B) {
	handler := build(b, dynamic.CircuitBreaker{Expression: onErrors, FallbackDuration: ptypes.Duration(time.Hour)},
		nil).For("router web@file").
		Wrap(answering(http.StatusBadGateway))
	r := middlewaretest.Request(b, "GET /")
	r = r.WithContext(telemetry.WithRecord(b.Context(), new(telemetry.Record)))
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(new(middlewaretest.Writer), r)
	}
}

func BenchmarkMemory(b *testing.B) {
	c := build(b, dynamic.CircuitBreaker{Expression: onErrors}, nil)
	b.ReportAllocs()
	for b.Loop() {
		c.For("router web@file")
	}
}
