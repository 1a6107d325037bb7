package redis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis/redistest"
)

// clocked is the script with a clock that the test sets: seconds and microseconds as further arguments.
func clocked(t *testing.T) *redis.Script {
	t.Helper()
	text := strings.Replace(bucket, "redis.call('TIME')", "{ARGV[5], ARGV[6]}", 1)
	// Keys end by Redis' own clock, which goes on while a test that is stopped for a while does not.
	patient := strings.Replace(text, "/ 1000) + 1000,", "/ 1000) + 3600000,", 1)
	if text == bucket || patient == text {
		t.Fatal("the script does not ask for the time, or its keys do not end")
	}
	return redis.NewScript(patient)
}

// model is the same bucket in exact time.
type model struct {
	rate   Rate
	level  float64
	at     int64
	filled bool
}

func (m *model) take(now int64) int64 {
	if !m.filled {
		m.level, m.at, m.filled = float64(m.rate.Burst), now, true
	}
	per := m.rate.perMicrosecond()
	level := min(float64(m.rate.Burst), m.level+float64(max(0, now-m.at))*per)
	wait := int64(0)
	if level < 1 {
		wait = int64(math.Ceil((1 - level) / per))
	}
	if wait > m.rate.MaxDelay.Microseconds() {
		return -wait
	}
	m.level, m.at = level-1, now
	return wait
}

// The script does what the arithmetic says, at rates from one in a month to three million a second, over pauses,
// bursts, and a clock that jumps in both directions; and what passes within the time is the rate, within a
// thousandth.
func TestBucketIsExact(t *testing.T) {
	server := redistest.Start(t)
	client := direct(t, redis.Options{Addr: server.Address})
	script := clocked(t)
	for i, rate := range []Rate{
		{Average: 1, Period: 30 * 24 * time.Hour, Burst: 1},
		{Average: 1, Period: time.Second, Burst: 1},
		{Average: 7, Period: 3 * time.Second, Burst: 20, MaxDelay: 200 * time.Millisecond},
		{Average: 100, Period: time.Second, Burst: 50, MaxDelay: 5 * time.Millisecond},
		{Average: 3_000_000, Period: time.Second, Burst: 10},
		{Average: 3_000_000, Period: time.Second, Burst: 1, MaxDelay: 10 * time.Microsecond},
		{Average: math.MaxInt64, Period: time.Nanosecond, Burst: 5},
		{Average: 1, Period: time.Hour, Burst: 1_000_000},
	} {
		t.Run(fmt.Sprint(rate, rate.MaxDelay), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			l := newLimiter(nil, nil, "exact", rate)
			m := model{rate: rate}
			start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC).UnixMicro()
			now, allowed, between := start, 0, 1/rate.perMicrosecond()
			const steps = 1000
			for range steps {
				now += int64(random.ExpFloat64() * between * 0.7) // More than may pass.
				arguments := append(l.take[:4:4], fmt.Sprint(now/1e6), fmt.Sprint(now%1e6))
				got, err := script.Run(t.Context(), client, []string{l.key("192.0.2.1")}, arguments...).Int64()
				if err != nil {
					t.Fatal(err)
				}
				if want := m.take(now); !close1(got, want) {
					t.Fatalf("at %d: wait %d, want %d", now-start, got, want)
				}
				if got >= 0 {
					allowed++
				}
			}
			debt := float64(rate.MaxDelay.Microseconds()) * rate.perMicrosecond()
			most := float64(rate.Burst) + debt + float64(now-start)*rate.perMicrosecond()
			if float64(allowed) > most*1.001+1 {
				t.Errorf("%d passed, and %.1f may", allowed, most)
			}
			// Smaller ones are full, and overflow, at times.
			if rate.Burst >= 10 && most < steps*0.9 && float64(allowed) < most*0.99-debt-1 {
				t.Errorf("%d passed, and %.1f may", allowed, most)
			}
		})
	}
}

// close1 allows for the last digit.
func close1(a, b int64) bool { return (a < 0) == (b < 0) && max(a, b)-min(a, b) <= 1 }

func TestClockSetBack(t *testing.T) {
	server := redistest.Start(t)
	client := direct(t, redis.Options{Addr: server.Address})
	script := clocked(t)
	l := newLimiter(nil, nil, "back", Rate{Average: 10, Period: time.Second, Burst: 2})
	for i, step := range []struct {
		second int
		passes bool
	}{
		{1000, true},
		{1000, true},
		{1000, false},
		{500, false}, // Nothing flows in for the time before.
		{500, false},
		{501, false}, // Refused ones do not set the clock of a bucket.
		{1001, true}, // No request waits longer than the clock was set back by.
	} {
		arguments := append(l.take[:4:4], fmt.Sprint(step.second), "0")
		wait, err := script.Run(t.Context(), client, []string{l.key("192.0.2.1")}, arguments...).Int64()
		if err != nil || (wait >= 0) != step.passes {
			t.Errorf("step %d: wait %d, error %v", i, wait, err)
		}
	}
}

// Two processes that share a Redis hold one limit, though each sends as many requests as it can.
func TestTwoProcessesHoldOneLimit(t *testing.T) {
	server := redistest.Start(t)
	// A slow machine sends more than that, too. Two seconds' worth of tokens is kept, so that none is lost while the
	// machine does something else.
	rate := Rate{Average: 50, Period: time.Second, Burst: 100}
	var allowed, refused atomic.Int64
	var group sync.WaitGroup
	limiters := make([]*Limiter, 2)
	for i := range limiters {
		c, _ := clients(t)
		limiters[i] = limiter(t, c, at(server.Address), rate)
		if _, _, err := limiters[i].Take(t.Context(), "192.0.2.2"); err != nil { // It connects, and loads the script.
			t.Fatal(err)
		}
	}
	began := time.Now()
	pass(t, limiters[0], "192.0.2.1")
	allowed.Add(1)
	first := time.Now()
	for _, l := range limiters {
		for range 2 {
			group.Go(func() {
				for time.Since(began) < 2*time.Second {
					_, ok, err := l.Take(t.Context(), "192.0.2.1")
					switch {
					case err != nil:
						t.Errorf("Redis is there, and yet: %v", err)
						return
					case ok:
						allowed.Add(1)
					default:
						refused.Add(1)
					}
				}
			})
		}
	}
	group.Wait()
	last := time.Now() // When the bucket was empty at the earliest.
	for left := true; left; {
		last = time.Now()
		var err error
		if _, left, err = limiters[0].Take(t.Context(), "192.0.2.1"); err != nil {
			t.Fatal(err)
		} else if left {
			allowed.Add(1)
		}
	}
	got := float64(allowed.Load())
	least := float64(rate.Burst) + float64(rate.Average)*last.Sub(first).Seconds() - 1
	most := float64(rate.Burst) + float64(rate.Average)*time.Since(began).Seconds()
	t.Logf("%.0f of %d passed, want %.1f to %.1f", got, allowed.Load()+refused.Load(), least, most)
	if got < least*0.995 || got > most*1.005 { // Redis and the test read the clock of the machine differently.
		t.Errorf("%.0f passed, want %.1f to %.1f", got, least, most)
	}
	if refused.Load() == 0 {
		t.Error("nothing was refused, so nothing was measured")
	}
}

// A request that comes too early waits as long as it takes to have its token, up to the longest wait.
func TestDelays(t *testing.T) {
	server := redistest.Start(t)
	c, _ := clients(t)
	l := limiter(t, c, at(server.Address), Rate{Average: 1, Period: time.Hour, Burst: 2, MaxDelay: 90 * time.Minute})
	pass(t, l, "192.0.2.1")
	pass(t, l, "192.0.2.1")
	delay, allowed, err := l.Take(t.Context(), "192.0.2.1")
	if err != nil || !allowed || delay < 59*time.Minute || delay > time.Hour {
		t.Errorf("the third: %v, %v, %v", delay, allowed, err)
	}
	for range 2 { // A refused request takes nothing.
		delay, allowed, err = l.Take(t.Context(), "192.0.2.1")
		if err != nil || allowed || delay < 119*time.Minute || delay > 2*time.Hour {
			t.Errorf("the fourth: %v, %v, %v", delay, allowed, err)
		}
	}
	pass(t, l, "192.0.2.2") // Another source is another bucket.
}

// A key is there as long as its bucket is not full.
func TestKeysVanish(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := direct(t, redis.Options{Addr: server.Address})
	c, _ := clients(t)
	for _, test := range []struct {
		rate     Rate
		from, to time.Duration
	}{
		{Rate{Average: 10, Period: time.Second, Burst: 5}, time.Second, 1101 * time.Millisecond},
		{Rate{Average: 1, Period: time.Hour, Burst: 5}, 59 * time.Minute, time.Hour + time.Second},
		{Rate{Average: 1, Period: math.MaxInt64, Burst: 5}, 9 * 365 * 24 * time.Hour, 10 * 365 * 24 * time.Hour},
	} {
		l := limiter(t, c, at(server.Address), test.rate)
		began := time.Now()
		pass(t, l, "192.0.2.1")
		left := time.Duration(do(t, admin, "PTTL", l.key("192.0.2.1")).(int64)) * time.Millisecond
		passed := time.Since(began) + time.Millisecond // PTTL counts whole milliseconds.
		if left > test.to || left < test.from-passed && (left > 0 || passed < test.from) {
			t.Errorf("%v: the key ends in %v, want %v to %v", test.rate, left, test.from, test.to)
		}
	}
	l := limiter(t, c, at(server.Address), Rate{Average: 1000, Period: time.Second, Burst: 1})
	pass(t, l, "192.0.2.9")
	eventually(t, "the end of the key", func() bool { return do(t, admin, "EXISTS", l.key("192.0.2.9")) == int64(0) })
}
