package retry

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestReserve is there before the first request, and is refilled slowly.
func TestReserve(t *testing.T) {
	for _, percent := range []int{0, 20} {
		b := NewBudget(percent)
		if got := drain(b, 5*time.Second); got != reserve {
			t.Errorf("%d %%: %d retries at first", percent, got)
		}
		// What is due at once was refilled by then; nothing has ended well, so that there are no more retries in a row.
		if got := drain(b, 10*time.Second); got != 0 {
			t.Errorf("%d %%: %d retries in a row", percent, got)
		}
		b.Succeeded(10 * time.Second)
		if got := drain(b, 10*time.Second+refill/2); got < 1 || got > 6 {
			t.Errorf("%d %%: %d retries after five seconds and a success", percent, got)
		}
	}
}

// drain takes out what there is at the instant.
func drain(b *Budget, now time.Duration) (retries int) {
	for b.Withdraw(now) {
		retries++
	}
	return retries
}

// TestShare lets a pool of which many requests fail at first, and end well at last, retry its share of them for ever.
func TestShare(t *testing.T) {
	for _, percent := range []int{5, 20, 50} {
		b := NewBudget(percent)
		source := rand.New(rand.NewPCG(1, 2))
		requests, retries := 0, 0
		for now := time.Duration(0); now < 5*time.Minute; now += 5 * time.Millisecond {
			requests++
			if source.IntN(100) < 90 && b.Withdraw(now) {
				retries++
			}
			b.Succeeded(now)
		}
		bound := requests*percent/100 + reserve + int(5*time.Minute/refill)
		if retries > bound || retries < requests*percent/100 {
			t.Errorf("%d %%: %d retries for %d requests", percent, retries, requests)
		}
	}
}

// TestStorm fails a pool altogether at some instant: its requests stay within the share from the first second
// on, whatever was saved up.
func TestStorm(t *testing.T) {
	for _, rate := range []int{100, 500, 1000, 5000} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprint(rate, seed), func(t *testing.T) {
				source := rand.New(rand.NewPCG(seed, uint64(rate)))
				b := NewBudget(DefaultBudgetPercent)
				step := time.Second / time.Duration(rate)
				outage := 10*time.Second + time.Duration(source.Int64N(int64(time.Second)))
				now := time.Duration(0)
				for ; now < outage; now += step {
					b.Succeeded(now)
				}
				requests, tries := 0, 0
				for ; now < outage+10*time.Second; now += step {
					requests++
					tries++
					for again := 0; again < DefaultAttempts && b.Withdraw(now); again++ {
						tries++
					}
					if now >= outage+time.Second && float64(tries) > 1.2*float64(requests) {
						t.Fatalf("%s into the outage %d requests have become %d", now-outage, requests, tries)
					}
				}
				// It is over: the first that ends well opens the budget again.
				b.Succeeded(now)
				if !b.Withdraw(now) {
					t.Error("no retry after the recovery")
				}
			})
		}
	}
}

// TestBurst repeats what was under way to an endpoint that dies, while others go on.
func TestBurst(t *testing.T) {
	b := NewBudget(DefaultBudgetPercent)
	now := time.Duration(0)
	for ; now < 10*time.Second; now += time.Millisecond {
		b.Succeeded(now)
	}
	// A fifth of the traffic of a second at once.
	for range 200 {
		if !b.Withdraw(now) {
			t.Fatal("the burst is too large")
		}
	}
	if b.Withdraw(now) {
		t.Error("the burst has no end")
	}
	b.Succeeded(now)
	// What was saved up is a bound of its own.
	if got := drain(b, now); got < largest-200 || got > largest-200+1 {
		t.Errorf("%d retries after the burst", got)
	}
}

// TestFirstSecond counts what ended well in the second that is not over.
func TestFirstSecond(t *testing.T) {
	b := NewBudget(DefaultBudgetPercent)
	for range 1000 {
		b.Succeeded(time.Second / 2)
	}
	if got, want := drain(b, time.Second/2), 1000*DefaultBudgetPercent/100; got != want {
		t.Errorf("%d retries, want %d", got, want)
	}
}

// TestReturn gives back what was not used.
func TestReturn(t *testing.T) {
	b := NewBudget(0)
	for range 10 * reserve {
		if !b.Withdraw(0) {
			t.Fatal("nothing is left")
		}
		b.Return()
	}
	if got := drain(b, 0); got != reserve {
		t.Errorf("%d retries are left", got)
	}
}

// TestLateReturn gives back a retry after another request has ended well, which is no credit.
func TestLateReturn(t *testing.T) {
	b := NewBudget(DefaultBudgetPercent)
	for range 100 {
		b.Succeeded(0)
	}
	if !b.Withdraw(time.Hour) {
		t.Fatal("nothing is left")
	}
	b.Succeeded(time.Hour)
	b.Return()
	if got := drain(b, time.Hour); got != reserve {
		t.Errorf("%d retries in a row", got)
	}
}

// TestPause counts the traffic of the last second only.
func TestPause(t *testing.T) {
	b := NewBudget(DefaultBudgetPercent)
	for now := time.Duration(0); now < 10*time.Second; now += time.Millisecond {
		b.Succeeded(now)
	}
	if got := drain(b, time.Hour); got != reserve {
		t.Errorf("%d retries in a row after an hour without traffic", got)
	}
}

// TestBudgetOfMany has no more retries than were paid for when many goroutines pay and withdraw at a time.
func TestBudgetOfMany(t *testing.T) {
	b := NewBudget(DefaultBudgetPercent)
	const goroutines, each = 8, 5000
	var retries atomic.Int64
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			for i := range each {
				now := time.Duration(i) * time.Millisecond / 2
				b.Succeeded(now)
				if b.Withdraw(now) {
					if i%7 == 0 {
						b.Return()
						continue
					}
					retries.Add(1)
				}
			}
		})
	}
	group.Wait()
	if got, most := retries.Load(), int64(goroutines*each*DefaultBudgetPercent/100+reserve+3); got > most || got < most/2 {
		t.Errorf("%d retries, at most %d were paid for", got, most)
	}
	if saved := b.saved.Load(); saved < 0 || saved > largest*price+goroutines*DefaultBudgetPercent {
		t.Errorf("%d are saved up", saved)
	}
}

func BenchmarkSucceeded(b *testing.B) {
	budget := NewBudget(DefaultBudgetPercent)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for now := time.Duration(0); pb.Next(); now += 10 * time.Microsecond {
			budget.Succeeded(now)
		}
	})
}
