package held_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/httpio/held"
)

const mib = held.MinBytes

// TestEndLargest ends those that hold the most, of which each is ended once.
func TestEndLargest(t *testing.T) {
	for _, test := range []struct {
		name string
		// holds are the requests, in MiB, and ends what each call ends.
		holds []int64
		ends  [][]int64
	}{
		{"none", nil, [][]int64{nil}},
		{"one", []int64{1}, [][]int64{{1}, nil}},
		{"the largest is a tenth", []int64{1, 10, 2, 5, 2}, [][]int64{{10}, {5}, {2}}},
		{"some are a tenth", slices.Repeat([]int64{1}, 25), [][]int64{{1, 1, 1}, {1, 1, 1}, {1, 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := held.New(time.Second)
			var ended []int64
			for _, size := range test.holds {
				r.Add(size*mib, func() bool {
					ended = append(ended, size)
					return true
				})
			}
			for _, want := range test.ends {
				ended = nil
				requests, bytes := r.EndLargest()
				if diff := cmp.Diff(want, ended); diff != "" {
					t.Error(diff)
				}
				var sum int64
				for _, size := range want {
					sum += size * mib
				}
				if requests != len(want) || bytes != sum {
					t.Errorf("%d requests, %d bytes", requests, bytes)
				}
			}
		})
	}
}

// TestHolder follows what a request holds.
func TestHolder(t *testing.T) {
	r := held.New(0)
	ended := 0
	end := func() bool {
		ended++
		return true
	}
	shrunk, removed := r.Add(3*mib, end), r.Add(2*mib, end)
	removed.Remove()
	removed.Set(4 * mib)
	removed.Remove()
	shrunk.Set(mib - 1)
	if requests, bytes := r.EndLargest(); requests != 0 || bytes != 0 || ended != 0 {
		t.Errorf("%d requests with %d bytes were ended, %d calls", requests, bytes, ended)
	}
	shrunk.Set(mib)
	r.Add(2*mib, func() bool { return false }) // It has ended by itself.
	if requests, bytes := r.EndLargest(); requests != 0 || bytes != 0 {
		t.Errorf("%d requests with %d bytes", requests, bytes)
	}
	if requests, bytes := r.EndLargest(); requests != 1 || bytes != mib || ended != 1 {
		t.Errorf("%d requests with %d bytes, %d calls", requests, bytes, ended)
	}
	if r.RetryAfter() != 0 || held.New(time.Second).RetryAfter() != time.Second {
		t.Error("RetryAfter is not that of New")
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	r := held.New(0)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for i := range int64(200) {
				h := r.Add(mib, func() bool { return true })
				h.Set(mib + i)
				r.EndLargest()
				h.Remove()
			}
		})
	}
	running.Wait()
	if requests, _ := r.EndLargest(); requests != 0 {
		t.Errorf("%d are left", requests)
	}
}
