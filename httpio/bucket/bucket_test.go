package bucket_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/httpio/bucket"
)

// TestBucketIsATableOfOne compares a bucket with that of the only source of a table.
func TestBucketIsATableOfOne(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		rate := bucket.NewRate(1+random.Int64N(1000), time.Second, 1+random.Int64N(50))
		one, table, now := bucket.NewBucket(rate), bucket.NewTable(rate), int64(0)
		for range 1000 {
			now += random.Int64N(2*int64(rate.Interval()) + 1)
			if got, want := one.Take(now), table.Take(7, now); got != want {
				t.Fatalf("%+v at %d: got %+v, want %+v", rate, now, got, want)
			}
		}
	}
}

// TestBucketGivesWhatItHolds has many goroutines take at one time: a bucket gives what it holds, not more and not less.
func TestBucketGivesWhatItHolds(t *testing.T) {
	const burst = 1000
	one := bucket.NewBucket(bucket.NewRate(1, time.Second, burst))
	var allowed atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range burst {
				if one.Take(1).Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	group.Wait()
	if got := allowed.Load(); got != burst {
		t.Errorf("%d tokens were taken, want %d", got, burst)
	}
}

// TestBucketWithAClockThatGoesBack takes tokens with a clock that goes back: none is given twice, and the wait is never
// negative.
func TestBucketWithAClockThatGoesBack(t *testing.T) {
	one := bucket.NewBucket(bucket.NewRate(1, time.Second, 1))
	if v := one.Take(int64(time.Minute)); !v.Allowed {
		t.Fatalf("a full bucket refuses: %+v", v)
	}
	if v := one.Take(0); v.Allowed || v.Wait <= 0 {
		t.Errorf("a minute before: %+v", v)
	}
	if v := one.Take(int64(time.Minute + time.Second)); !v.Allowed {
		t.Errorf("a second after: %+v", v)
	}
}
