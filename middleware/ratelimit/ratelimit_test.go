package ratelimit

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	ptypes "github.com/traefik/paerser/types"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
	"github.com/sluiceproxy/sluice/telemetry"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limiter is a rateLimit whose clock stands still until it is set.
func limiter(t testing.TB, config dynamic.RateLimit) (m *RateLimit, now *int64) {
	t.Helper()
	m, err := New("m@file", config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	now = new(int64)
	m.clock = func() int64 { return *now }
	return m, now
}

// send returns how many of n equal requests pass.
func send(t testing.TB, handler http.Handler, n int, headers ...string) (passed int) {
	t.Helper()
	for range n {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, middlewaretest.Request(t, "GET /", headers...))
		if w.Code == http.StatusNoContent {
			passed++
		}
	}
	return passed
}

func next() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
}

func TestReadme(t *testing.T) {
	definitions := middlewaretest.Examples(t, "README.md")
	for name, passed := range map[string]int{"per-client": 50, "per-key": 5, "cluster": 50} {
		config := *definitions[name].RateLimit
		config.Redis = nil // The tests of package redis have servers.
		m, _ := limiter(t, config)
		if got := send(t, m.For("router web@file").Wrap(next()), 100); got != passed {
			t.Errorf("%s lets %d of 100 requests pass, want %d", name, got, passed)
		}
	}
}

func TestOptions(t *testing.T) {
	key := &dynamic.SourceCriterion{RequestHeaderName: "X-Key"}
	host := &dynamic.SourceCriterion{RequestHost: true}
	behind := &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{Depth: 1}}
	tests := []struct {
		name    string
		config  dynamic.RateLimit
		headers [2]string
		// passed are how many of 20 requests with each header pass, one after the other.
		passed [2]int
	}{
		{
			name: "no average, no limit", config: dynamic.RateLimit{Burst: 1}, headers: [2]string{"A: 1", "A: 1"},
			passed: [2]int{20, 20},
		},
		{
			name: "burst", config: dynamic.RateLimit{Average: 1, Burst: 7}, headers: [2]string{"A: 1", "A: 2"},
			passed: [2]int{7, 0},
		},
		{
			name: "no burst is one of 1", config: dynamic.RateLimit{Average: 1}, headers: [2]string{"A: 1", "A: 2"},
			passed: [2]int{1, 0},
		},
		{name: "header", config: dynamic.RateLimit{Average: 1, SourceCriterion: key}, headers: [2]string{
			"X-Key: a",
			"x-key: b",
		}, passed: [2]int{1, 1}},
		{name: "one header", config: dynamic.RateLimit{Average: 1, SourceCriterion: key}, headers: [2]string{
			"X-Key: a",
			"x-key: a",
		}, passed: [2]int{1, 0}},
		{name: "no header", config: dynamic.RateLimit{Average: 1, SourceCriterion: key}, headers: [2]string{
			"A: 1",
			"X_Key: b",
		}, passed: [2]int{1, 0}},
		{
			name: "host", config: dynamic.RateLimit{Average: 1, SourceCriterion: host}, headers: [2]string{"Host: a", "Host: b"},
			passed: [2]int{1, 1},
		},
		{name: "one host", config: dynamic.RateLimit{Average: 1, SourceCriterion: host}, headers: [2]string{
			"Host: a",
			"Host: A.:80",
		}, passed: [2]int{1, 0}},
		{name: "one peer", config: dynamic.RateLimit{Average: 1}, headers: [2]string{
			"X-Forwarded-For: ::1",
			"X-Forwarded-For: ::2",
		}, passed: [2]int{1, 0}},
		{
			name: "behind a proxy", config: dynamic.RateLimit{Average: 1, SourceCriterion: behind},
			headers: [2]string{"X-Forwarded-For: ::1", "X-Forwarded-For: ::2"}, passed: [2]int{1, 1},
		},
		{
			name: "unknown addresses are one source", config: dynamic.RateLimit{Average: 1, SourceCriterion: behind},
			headers: [2]string{"X-Forwarded-For: x", "A: 1"}, passed: [2]int{1, 0},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := limiter(t, test.config)
			handler := m.For("router web@file").Wrap(next())
			for i, header := range test.headers {
				if got := send(t, handler, 20, header); got != test.passed[i] {
					t.Errorf("%q: %d requests passed, want %d", header, got, test.passed[i])
				}
			}
		})
	}
}

func TestOwnersCountAlone(t *testing.T) {
	for shared, want := range map[bool]int{false: 3, true: 0} {
		m, now := limiter(t, dynamic.RateLimit{Average: 1, Burst: 3, Shared: shared})
		a, b := m.For("router a@file"), m.For("router b@file")
		if got := send(t, a.Wrap(next()), 5); got != 3 {
			t.Errorf("shared %v: %d requests of the first owner passed, want 3", shared, got)
		}
		if got := send(t, b.Wrap(next()), 5); got != want {
			t.Errorf("shared %v: %d requests of the second owner passed, want %d", shared, got, want)
		}
		if got := send(t, a.Wrap(next()), 5); got != 0 {
			t.Errorf("shared %v: a new handler of the first owner lets %d requests pass", shared, got)
		}
		counts := map[string]uint64{"refused": uint64(12 - want), "delayed": 0, "evicted": 0}
		if diff := cmp.Diff(counts, m.Counts()); diff != "" {
			t.Errorf("shared %v: %s", shared, diff)
		}
		if state, levels := a.(*step).Status(); state != "" || levels["sources"] != 1 {
			t.Errorf("shared %v: stands %q, %v", shared, state, levels)
		}
		*now = int64(time.Hour)
		if _, levels := a.(*step).Status(); levels["sources"] != 0 {
			t.Errorf("shared %v: an hour later it stands at %v", shared, levels)
		}
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	for want, config := range map[string]dynamic.RateLimit{
		"rateLimit.average -1 is negative": {Average: -1},
		"rateLimit.burst -1 is negative":   {Average: 1, Burst: -1},
		"rateLimit.period -1s is negative": {Average: 1, Period: ptypes.Duration(-time.Second)},
		"rateLimit.sourceCriterion sets ": {
			Average:         1,
			SourceCriterion: &dynamic.SourceCriterion{RequestHost: true, RequestHeaderName: "X"},
		},
		"rateLimit.sourceCriterion.ipStrategy.depth -2": {
			SourceCriterion: &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{Depth: -2}},
		},
		"rateLimit.sourceCriterion.requestHeaderName \"a b\"": {
			Average:         1,
			SourceCriterion: &dynamic.SourceCriterion{RequestHeaderName: "a b"},
		},
		"rateLimit.redis.": {Redis: &dynamic.Redis{
			Endpoints: []string{"nowhere"},
			DB:        -1,
		}},
	} {
		m, err := New("m@file", config, Options{})
		if m != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", config, err, want)
		}
	}
}

// TestAnswers compares whole answers with what is documented.
func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		line   string
		config dynamic.RateLimit
		after  time.Duration
	}{
		"429":      {"GET /", dynamic.RateLimit{Average: 100, Burst: 1}, 4 * time.Millisecond},
		"429-head": {"HEAD /", dynamic.RateLimit{Average: 100, Burst: 1}, 4 * time.Millisecond},
		"429-a-minute": {
			"GET /",
			dynamic.RateLimit{Average: 1, Period: ptypes.Duration(time.Minute), Burst: 1},
			time.Second,
		},
		"429-a-bit-too-fast": {"POST /", dynamic.RateLimit{Average: 1, Burst: 1}, 499_999_999},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, now := limiter(t, test.config)
			handler := m.For("router web@file").Wrap(next())
			send(t, handler, 1)
			*now += int64(test.after)
			record := new(telemetry.Record)
			r := middlewaretest.Request(t, test.line)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r.WithContext(telemetry.WithRecord(t.Context(), record)))
			var got strings.Builder
			fmt.Fprintf(&got, "%d\n", w.Code)
			for _, name := range slices.Sorted(maps.Keys(w.Header())) {
				fmt.Fprintf(&got, "%s: %s\n", name, strings.Join(w.Header()[name], ", "))
			}
			fmt.Fprintf(&got, "\n%s", w.Body)
			golden(t, filepath.Join("testdata", name+".golden"), got.String())
			if record.Reason != "middleware m@file: the source sends more than the limit" {
				t.Errorf("the reason is %q", record.Reason)
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", file, diff)
	}
}

// TestRequestsWaitForTheirTurn has requests come a bit too early: they pass when their tokens come, and no later one
// overtakes them.
func TestRequestsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := New("m@file", dynamic.RateLimit{Average: 10, Burst: 2}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var waits []time.Duration
		handler := m.For("router web@file").Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			waits = append(waits, time.Since(start))
		}))
		statuses := make([]int, 0, 4)
		for range 4 {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, middlewaretest.Request(t, "GET /"))
			statuses = append(statuses, w.Code)
			<-time.NewTimer(30 * time.Millisecond).C
		}
		// At 0 and 30 ms there are tokens, at 60 one will come in 40 ms, at 130 one in 70 ms, which is too long.
		if diff := cmp.Diff([]time.Duration{0, 30 * time.Millisecond, 100 * time.Millisecond}, waits); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int{200, 200, 200, 429}, statuses); diff != "" {
			t.Error(diff)
		}
		if counts := m.Counts(); counts["delayed"] != 1 || counts["refused"] != 1 {
			t.Errorf("counts %v", counts)
		}
	})
}

func TestWaitingEndsWithTheRequest(t *testing.T) {
	left := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(100*time.Millisecond, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	}
	late := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		return ctx, cancel
	}
	tests := map[string]struct {
		end    func(context.Context) (context.Context, func())
		status int
		record telemetry.Record
	}{
		"client leaves": {left, 0, telemetry.Record{
			Status: 499,
			Reason: "middleware m@file: the client left before the request's turn",
		}},
		"time is over": {
			late, 504,
			telemetry.Record{Reason: "middleware m@file: the time for the request was over before the request's turn"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, err := New("m@file", dynamic.RateLimit{Average: 1, Burst: 1}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				passed := 0
				handler := m.For("router web@file").Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }))
				send(t, handler, 1)
				<-time.NewTimer(600 * time.Millisecond).C
				start := time.Now()
				record := new(telemetry.Record)
				ctx, done := test.end(telemetry.WithRecord(t.Context(), record))
				defer done()
				w := new(middlewaretest.Writer)
				handler.ServeHTTP(w, middlewaretest.Request(t, "GET /").WithContext(ctx))
				if took := time.Since(start); took != 100*time.Millisecond || passed != 1 || w.Status != test.status {
					t.Errorf("after %s, %d passed, status %d", took, passed, w.Status)
				}
				if diff := cmp.Diff(test.record, *record, cmpopts.IgnoreUnexported(telemetry.Record{})); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestTheWriterPassesUntouched proves what streams, upgrades and trailers need: nothing stands between the service
// and the server.
func TestTheWriterPassesUntouched(t *testing.T) {
	m, _ := limiter(t, dynamic.RateLimit{Average: 1, Burst: 1})
	w, r := httptest.NewRecorder(), middlewaretest.Request(t, "GET /")
	m.For("router web@file").Wrap(http.HandlerFunc(func(gotW http.ResponseWriter, gotR *http.Request) {
		if gotW != http.ResponseWriter(w) || gotR != r {
			t.Error("the writer or the request was replaced")
		}
	})).ServeHTTP(w, r)
}

// TestSourcesDoNotKeepHeads sends requests whose heads are large, each of another source, and demands that none is
// held afterwards.
func TestSourcesDoNotKeepHeads(t *testing.T) {
	m, _ := limiter(t, dynamic.RateLimit{
		Average:         1,
		SourceCriterion: &dynamic.SourceCriterion{RequestHeaderName: "X-Key"},
	})
	handler := m.For("router web@file").Wrap(next())
	const requests, size = 2000, 16 << 10
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := middlewaretest.Request(t, "GET /")
	for i := range requests {
		head := fmt.Sprintf("key %4d", i) + strings.Repeat("x", size)
		r.Header["X-Key"] = []string{head[:8]}
		w := new(middlewaretest.Writer)
		handler.ServeHTTP(w, r)
		if w.Status != http.StatusNoContent {
			t.Fatalf("source %d got %d", i, w.Status)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > requests*size/10 {
		t.Errorf("%d bytes are held after %d requests of %d", held, requests, size)
	}
	runtime.KeepAlive(handler)
}

// TestWithoutRedisAnswering keeps the limit in this process when Redis does not answer, for all owners together.
func TestWithoutRedisAnswering(t *testing.T) {
	address := http1test.Reserve(t)
	clients := redis.NewClients(telemetry.Discard{})
	defer clients.Close()
	config := dynamic.RateLimit{
		Average: 1, Period: ptypes.Duration(time.Hour), Burst: 3,
		Redis: &dynamic.Redis{Endpoints: []string{address}},
	}
	for name, options := range map[string]Options{"shared clients": {Clients: clients}, "own clients": {}} {
		m, err := New("m@file", config, options)
		if err != nil {
			t.Fatal(err)
		}
		m.Start()
		a, b := m.For("router a@file"), m.For("router b@file")
		if got := send(t, a.Wrap(next()), 2) + send(t, b.Wrap(next()), 5); got != 3 {
			t.Errorf("%s: %d requests passed, want 3", name, got)
		}
		if counts := m.Counts(); counts["local"] != 7 || counts["refused"] != 4 {
			t.Errorf("%s: counts %v", name, counts)
		}
		if state, levels := a.(*step).Status(); state != "redis_lost" || levels["sources"] != 1 {
			t.Errorf("%s: stands %q, %v", name, state, levels)
		}
		m.Close()
		if got := send(t, b.Wrap(next()), 5, "X-Forwarded-For: 10.0.0.1"); got != 0 {
			t.Errorf("%s: closed, it lets %d requests pass", name, got)
		}
	}
}

// TestManyAtOnce lets many goroutines use one limiter while others read its state.
func TestManyAtOnce(t *testing.T) {
	m, _ := limiter(t, dynamic.RateLimit{Average: 1, Burst: 50})
	owners := []*step{m.For("router a@file").(*step), m.For("router b@file").(*step)}
	var passed atomic.Int64
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed.Add(1) })
	done := make(chan struct{})
	for i := range 8 {
		r := middlewaretest.Request(t, "GET /")
		go func() {
			defer func() { done <- struct{}{} }()
			wrapped := owners[i%2].Wrap(handler)
			for range 100 {
				wrapped.ServeHTTP(new(middlewaretest.Writer), r)
				owners[i%2].Status()
				m.Counts()
			}
		}()
	}
	for range 8 {
		<-done
	}
	if passed.Load() != 100 || m.Counts()["refused"] != 700 {
		t.Errorf("%d passed, counts %v", passed.Load(), m.Counts())
	}
}
