package retry

import (
	"sync/atomic"
	"time"
)

const (
	// price is the cost of one retry; a successful request pays the percentage.
	price = 100
	// reserve is the number of retries available at start, and the refill for a pool with little traffic: one
	// more in each refill.
	reserve = 10
	refill  = time.Second
	// largest is the maximum of saved retries, so that a pool can repeat the requests in flight to an endpoint that fails.
	largest = 256
	// span is the time over which traffic is counted.
	span = time.Second
)

// Budget limits the retries of one pool in proportion to successful requests, so that overloaded endpoints do not get
// more load. It is safe for concurrent use and takes no lock.
//
// Two rules apply together. Retries are paid from a balance that successful requests pay in, up to a limit. And while
// no request succeeds, the number of retries is limited to the percentage of the successes in one second before: a pool
// that fails altogether does not use up its balance.
//
// Times are instants since an epoch of the caller's.
type Budget struct {
	percent int64
	// saved is what has been paid in and not spent, in hundredths of a retry.
	saved atomic.Int64
	// barren counts the retries since the last success.
	barren atomic.Int64
	// second is the number of the span that current counts in; before is what was counted in the span before that.
	second          atomic.Int64
	current, before atomic.Int64
	// refilled is when the reserve last grew.
	refilled atomic.Int64
}

// NewBudget returns a budget with a full reserve of ten retries. With a percentage of 0 there is nothing but
// the reserve, which grows by one retry a second. With [NoBudget] every retry is allowed.
func NewBudget(percent int) *Budget {
	b := &Budget{percent: int64(percent)}
	b.saved.Store(reserve * price)
	return b
}

// Succeeded pays in for a successful request, with or without retries.
func (b *Budget) Succeeded(now time.Duration) {
	if b.percent < 0 {
		return
	}
	b.roll(now)
	b.current.Add(1)
	// What is as it should be already is left alone, so that goroutines need not take the memory from each other.
	if b.barren.Load() != 0 {
		b.barren.Store(0)
	}
	if b.saved.Load() < largest*price {
		b.saved.Add(b.percent)
	}
}

// Withdraw takes one retry out, and reports whether there was one. It must be given back with Return when it is
// not used.
func (b *Budget) Withdraw(now time.Duration) bool {
	if b.percent < 0 {
		return true
	}
	b.roll(now)
	if b.barren.Add(1) > b.bound() {
		b.barren.Add(-1)
		return false
	}
	b.grow(now)
	if b.saved.Add(-price) < 0 {
		b.Return()
		return false
	}
	return true
}

// Return gives back a retry that was not used after all.
func (b *Budget) Return() {
	if b.percent < 0 {
		return
	}
	b.saved.Add(price)
	if b.barren.Add(-1) < 0 {
		// A request has succeeded in between.
		b.barren.Add(1)
	}
}

// bound returns the maximum number of retries without a success.
func (b *Budget) bound() int64 {
	return max(reserve, max(b.before.Load(), b.current.Load())*b.percent/price)
}

// roll begins to count anew where the span is over. What others count meanwhile may end up on either side.
func (b *Budget) roll(now time.Duration) {
	number := int64(now / span)
	last := b.second.Load()
	if number <= last || !b.second.CompareAndSwap(last, number) {
		return
	}
	counted := b.current.Swap(0)
	if number > last+1 {
		counted = 0
	}
	b.before.Store(counted)
}

// grow adds to the reserve what is due.
func (b *Budget) grow(now time.Duration) {
	last := time.Duration(b.refilled.Load())
	due := int64((now - last) / refill)
	if due <= 0 || !b.refilled.CompareAndSwap(int64(last), int64(now)) {
		return
	}
	if lacking := reserve*price - b.saved.Load(); lacking > 0 {
		b.saved.Add(min(due*price, lacking))
	}
}
