package overload

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// epochTime is how long requests that begin are counted together.
	epochTime = time.Second
	// epochs is the number of counters: those of the current and the last epoch are in use, and the others lie between
	// them and their reuse, so that a request that ends late does not change one that is in use.
	epochs = 4
	// steepest is the most by which a limit falls with one measurement, as a factor.
	steepest = 0.1
	// growth is how much a limit grows in a second at most, as a part of it, and leastGrowth for a small one, in
	// requests.
	growth, leastGrowth = 1, 8
	// unneeded is how long no request of a class has to be refused for its limit to end.
	unneeded = time.Second
	// exhausted is how long all requests of a class have to be refused for the next class to be limited.
	exhausted = 500 * time.Millisecond
	// unrestricted is the class that is limited while none is.
	unrestricted = -1
)

// measurement is the pressure of a queue, and how long the wait was. lasting is the lower one of the last two
// pressures.
type measurement struct {
	pressure, lasting float64
	wait              time.Duration
}

// concurrency limits how many requests are served at a time while a queue is long. As congestion control does, it
// finds the limit by how long the queue is. One class is limited: requests of less important ones are refused, and
// those of more important ones are admitted.
//
// A limit of requests at a time bounds the queue whatever is offered, and the next request takes a place that becomes
// free. Any share of requests that is admitted would be too low to use the resource, or too high, and the queue grow.
type concurrency struct {
	// epoch is the number of the current epoch, and began[class][epoch % epochs] has the requests that began in it and
	// have not ended. Those that take longer than the last two epochs, such as WebSockets and streams of events, do not
	// count: they wait for something else most of the time.
	epoch atomic.Uint32
	began [classCount][epochs]atomic.Int64

	// limits are those of the classes. While there is one of a class, arrived counts its requests, and refused those
	// beyond.
	limits           [classCount]atomic.Int64
	arrived, refused [classCount]atomic.Uint64

	// What follows is for adjust alone. class is the one that limit applies to; limit is at least 1.
	class int
	limit float64
	// adjusted is when it was called last, and lowered when the limit was lowered.
	adjusted, lowered time.Time
	// needed is when a request of the class was refused last, or the queue was too long; served is when one was admitted
	// last, or the queue was short enough.
	needed, served time.Time
	// rotated is when the current epoch began.
	rotated time.Time
}

func newConcurrency() *concurrency {
	c := &concurrency{class: unrestricted}
	c.epoch.Store(1) // A permit is not 0.
	c.apply(nil)
	return c
}

// admit counts a request, unless that is one too many. The permit is for release.
func (c *concurrency) admit(class dynamic.PriorityClass) (permit uint32, admitted bool) {
	index := int(class - dynamic.PriorityLow)
	epoch := c.epoch.Load()
	began := &c.began[index][epoch%epochs]
	began.Add(1)
	if limit := c.limits[index].Load(); limit != unlimited {
		c.arrived[index].Add(1)
		if c.serving() > limit {
			began.Add(-1)
			c.refused[index].Add(1)
			return 0, false
		}
	}
	return epoch*uint32(classCount) + uint32(index), true
}

// release ends the request of a permit.
func (c *concurrency) release(permit uint32) {
	index, epoch := permit%uint32(classCount), permit/uint32(classCount)
	if c.epoch.Load()-epoch <= 1 {
		c.began[index][epoch%epochs].Add(-1)
	}
}

// serving returns how many requests are served that began in the last two epochs.
func (c *concurrency) serving() (all int64) {
	for class := range classCount {
		all += c.servingOf(class)
	}
	return all
}

func (c *concurrency) servingOf(class int) int64 {
	epoch := c.epoch.Load()
	return c.began[class][epoch%epochs].Load() + c.began[class][(epoch-1)%epochs].Load()
}

// limited reports whether the requests of a class are limited.
func (c *concurrency) limited(action Action) bool {
	return c.limits[action-ShedLow].Load() != unlimited
}

// adjust takes a new measurement. It is called from one goroutine.
func (c *concurrency) adjust(measured measurement, steps *[actionCount]step, now time.Time) {
	c.rotate(now)
	if c.class == unrestricted {
		if c.class = c.above(unrestricted, measured.lasting, steps); c.class == unrestricted {
			return
		}
		c.limit, c.needed, c.served, c.lowered = unlimited, now, now, time.Time{}
		c.lower(measured, steps, now)
	} else {
		c.change(measured, steps, now)
	}
	c.adjusted = now
	c.apply(steps)
}

// change lowers the limit while the queue is too long; otherwise it raises it while requests are refused, and limits a
// less important class when none are.
func (c *concurrency) change(measured measurement, steps *[actionCount]step, now time.Time) {
	arrived, refused := c.arrived[c.class].Swap(0), c.refused[c.class].Swap(0)
	threshold := steps[ShedLow+Action(c.class)].begins
	if measured.pressure < threshold || arrived > refused {
		c.served = now
	}
	switch {
	case measured.pressure >= threshold:
		c.needed = now
		c.lower(measured, steps, now)
	case refused > 0:
		c.needed = now
		room := 1 - measured.pressure/threshold
		c.limit += room * max(leastGrowth, growth*c.limit) * min(now.Sub(c.adjusted).Seconds(), 1)
	case arrived == 0 || now.Sub(c.needed) >= unneeded:
		c.needed = now
		c.class, c.limit = below(c.class, steps), float64(c.serving()+1)
	}
}

// lower lowers the limit in proportion to the pressure. Where all requests of the class are refused and the queue
// stays too long, the next class is limited.
func (c *concurrency) lower(measured measurement, steps *[actionCount]step, now time.Time) {
	if now.Add(-measured.wait).Before(c.lowered) {
		return // What has waited came before the limit was lowered.
	}
	c.lowered = now
	serving := float64(c.serving())
	threshold := steps[ShedLow+Action(c.class)].begins
	factor := threshold / measured.lasting
	if factor > 1 { // The measurement before was below, and this one may be an exception.
		factor = math.Sqrt(threshold / measured.pressure)
	}
	c.limit = max(min(c.limit, serving)*max(factor, steepest), 1)
	if now.Sub(c.served) < exhausted {
		return
	}
	if next := c.above(c.class, measured.lasting, steps); next != unrestricted {
		c.class, c.limit, c.served = next, max(serving, 1), now
	}
}

// above returns the next class above one that has requests, if the pressure has reached its threshold, otherwise
// unrestricted.
func (c *concurrency) above(class int, pressure float64, steps *[actionCount]step) int {
	for class++; class < classCount; class++ {
		begins := steps[ShedLow+Action(class)].begins
		if begins > 0 && pressure >= begins && c.servingOf(class) > 0 {
			return class
		}
	}
	return unrestricted
}

// below returns the next class below one that can be limited, otherwise unrestricted.
func below(class int, steps *[actionCount]step) int {
	for class--; class >= 0; class-- {
		if steps[ShedLow+Action(class)].begins > 0 {
			return class
		}
	}
	return unrestricted
}

// apply sets the limits: none above the limited class, and 0 below it. steps may be nil while none is limited.
func (c *concurrency) apply(steps *[actionCount]step) {
	for i := range c.limits {
		limit := int64(unlimited)
		switch {
		case i > c.class || steps[ShedLow+Action(i)].begins == 0:
		case i == c.class:
			limit = int64(c.limit)
		default:
			limit = 0
		}
		c.limits[i].Store(limit)
	}
}

// rotate begins an epoch when the current one is over.
func (c *concurrency) rotate(now time.Time) {
	if now.Sub(c.rotated) < epochTime {
		return
	}
	c.rotated = now
	next := c.epoch.Load() + 1
	for class := range c.began {
		c.began[class][next%epochs].Store(0)
	}
	c.epoch.Store(next)
}
