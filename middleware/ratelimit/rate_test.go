package ratelimit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
)

func TestRates(t *testing.T) {
	second := ptypes.Duration(time.Second)
	tests := []struct {
		config dynamic.RateLimit
		want   redis.Rate
	}{
		{dynamic.RateLimit{Average: 10}, redis.Rate{
			Average: 10, Period: time.Second, Burst: 1,
			MaxDelay: 50 * time.Millisecond,
		}},
		{dynamic.RateLimit{Average: 10, Period: second, Burst: 20}, redis.Rate{
			Average: 10, Period: time.Second, Burst: 20,
			MaxDelay: 50 * time.Millisecond,
		}},
		{dynamic.RateLimit{Average: 1, Period: second, Burst: 1}, redis.Rate{
			Average: 1, Period: time.Second, Burst: 1,
			MaxDelay: 500 * time.Millisecond,
		}},
		{dynamic.RateLimit{Average: 6, Period: 60 * second, Burst: 2}, redis.Rate{
			Average: 6, Period: time.Minute, Burst: 2,
			MaxDelay: 500 * time.Millisecond,
		}},
		{dynamic.RateLimit{Average: 3, Period: second}, redis.Rate{
			Average: 3, Period: time.Second, Burst: 1,
			MaxDelay: 166666666,
		}},
		{
			dynamic.RateLimit{Average: math.MaxInt64},
			redis.Rate{Average: math.MaxInt64, Period: time.Second, Burst: 1},
		},
		{
			dynamic.RateLimit{Average: 1, Period: math.MaxInt64, Burst: math.MaxInt64},
			redis.Rate{Average: 1, Period: math.MaxInt64, Burst: math.MaxInt64, MaxDelay: 500 * time.Millisecond},
		},
		{
			dynamic.RateLimit{Average: 1, Period: second, Burst: math.MaxInt64},
			redis.Rate{Average: 1, Period: time.Second, Burst: math.MaxInt64, MaxDelay: 500 * time.Millisecond},
		},
	}
	for _, test := range tests {
		got, limited, err := newRate(test.config)
		if err != nil || !limited {
			t.Fatalf("%+v: %v, %v", test.config, limited, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v: %s", test.config, diff)
		}
	}
	if _, limited, err := newRate(dynamic.RateLimit{Burst: 5, Period: second}); limited || err != nil {
		t.Errorf("without average: limited is %v, %v", limited, err)
	}
}

// TestErrorOfTheRate offers each of many sources more than it may send, at times that differ, and demands that what
// passes in the long run is the configured rate within 2 %, and that no source is evicted meanwhile.
func TestErrorOfTheRate(t *testing.T) {
	for _, scale := range []struct{ sources, rounds int }{{100, 400}, {10_000, 40}, {1_000_000, 3}} {
		t.Run(fmt.Sprint(scale.sources), func(t *testing.T) {
			checkRate(t, scale.sources, scale.rounds)
		})
	}
}

func checkRate(t *testing.T, sources, rounds int) {
	const interval, warm = int64(100 * time.Millisecond), 2
	m, err := New("m@file", dynamic.RateLimit{Average: 10, Burst: 1}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var now int64
	m.clock = func() int64 { return now }
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, r := &step{limit: m}, middlewaretest.Request(t, "GET /")
	addresses := remoteAddresses(sources)

	// In each round every source sends once, at any time: four times as often as it may, and never so late that a
	// token is lost. The first round takes an interval, so that tokens come at any time, too.
	random := rand.New(rand.NewPCG(5, 6))
	begin, round, passed := int64(0), interval, 0
	for n := range warm + rounds {
		for i := range sources {
			now, r.RemoteAddr = begin+random.Int64N(round), addresses[i]
			if _, allowed := s.take(r); allowed && n >= warm {
				passed++
			}
		}
		begin, round = begin+round, interval/4
	}
	want := float64(sources) * float64(int64(rounds)*round) / float64(interval)
	fault := float64(passed)/want - 1
	runtime.GC()
	runtime.ReadMemStats(&after)
	_, levels := s.Status()
	if levels["sources"] != int64(sources) || m.Counts()["evicted"] != 0 {
		t.Errorf("%d of %d sources have a bucket, %d evicted", levels["sources"], sources, m.Counts()["evicted"])
	}
	if math.Abs(fault) > 0.02 {
		t.Errorf("%d requests passed, want %.0f", passed, want)
	}
	const bytes = 64 // for each source: a bucket is 16, and a table at least a quarter full
	t.Logf("%d sources: the rate is off by %.3f %%", sources, 100*fault)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc) - int64(len(addresses)*40)
	if held > int64(bytes*sources)+1<<20 {
		t.Errorf("%d bytes are held for %d sources", held, sources)
	}
	runtime.KeepAlive(addresses)
}

// remoteAddresses returns as many different values of RemoteAddr.
func remoteAddresses(n int) []string {
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1000).String()
	}
	return addresses
}
