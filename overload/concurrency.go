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
	// steepest is the least factor by which the first limit follows from the requests that are served, and steep that by
	// which a limit is lowered.
	steepest, steep = 0.1, 0.7
	// growth is how much a limit grows in a second at most, and growthByLatency in the time that a request takes, as a
	// part of it. A limit below leastGrowth grows by as many requests instead.
	growth, growthByLatency, leastGrowth = 1, 0.5, 8
	// leastPart is the part of the usual requests below which no limit falls: then something else makes the queue long.
	leastPart = 0.25
	// usualTime is the time over which the usual number is averaged.
	usualTime = 5 * time.Second
	// rising is how much faster it rises.
	rising = 4
	// latencyTime is the number of measurements over which the latency is averaged.
	latencyTime = 4
	// rateTime is the time in which the rate falls to a third when no request ends.
	rateTime = 10 * time.Second
	// even is the part by which the number of requests may differ between two measurements for the latency to follow.
	even = 0.25
	// crowd is the multiple of the usual requests, and busier that of the usual rate, above which one measurement begins a
	// limit.
	crowd, busier = 2, 1.5
	// excessive is the multiple of its threshold from which on a pressure that lasts lowers the whole limit.
	excessive = 6
	// exhausted is how long the limit of a class has to be without effect for the next class to be limited. Requests that
	// are refused because of those of the last epoch are admitted before that.
	exhausted = 3 * epochTime / 2
	// unneeded is how long no request of a class has to be refused for its limit to end.
	unneeded = time.Second
	// unrestricted is the class that is limited while none is.
	unrestricted = -1
)

// measurement is the pressure of a queue, which follows from a wait. lasting is the lower one of the last two
// pressures, and since when the first of the waits that were measured began.
type measurement struct {
	pressure, lasting float64
	wait              time.Duration
	since             time.Time
}

// concurrency limits how many requests are served at a time while a queue is long. As congestion control does, it
// finds the limit by how long the queue is. One class is limited: requests of less important ones are refused, and
// those of more important ones are admitted.
//
// A limit of requests at a time bounds the queue whatever is offered, and the next request takes a place that becomes
// free. Any share of requests that is admitted would be too low to use the resource, or too high, and the queue grow.
type concurrency struct {
	// epoch is the number of the current epoch.
	epoch   atomic.Uint32
	classes [classCount]class
	// processors is how many requests are worked on at a time.
	processors float64

	// What follows is for adjust alone. limited is the class that limit applies to.
	limited int
	limit   float64
	// usual is the average of the rate before the limit.
	usual float64
	// latency is how long a request is served without the queue. rate is how many requests end in a second, at most.
	latency time.Duration
	rate    float64
	// last is how many ended in a second before the last measurement.
	last float64
	// adjusted is when it was called last, and served how many requests were served then. lowered is when the limit was
	// lowered.
	served            int64
	adjusted, lowered time.Time
	// needed is when a request of the class was refused last, or the queue was too long; effective is when the limit had
	// an effect last, or the queue was short enough.
	needed, effective time.Time
	// rotated is when the current epoch began.
	rotated time.Time
}

// class counts the requests of a priority class.
type class struct {
	// began[epoch % epochs] has the requests that began in an epoch and have not ended. Those that take longer than the
	// last two epochs, such as WebSockets and streams of events, do not count: they wait for something else most of the
	// time.
	began [epochs]atomic.Int64
	// limit is how many requests of all classes are served at a time for one more to be admitted. While there is one,
	// arrived counts the requests, and refused those beyond.
	limit            atomic.Int64
	arrived, refused atomic.Uint64
	// ended counts the requests that have ended and counted until then.
	ended atomic.Uint64

	_ [64]byte // The next class is on other cache lines.
}

func newConcurrency(processors int) *concurrency {
	c := &concurrency{limited: unrestricted, processors: float64(max(processors, 1))}
	c.epoch.Store(1) // A permit is not 0.
	c.apply(nil)
	return c
}

// admit counts a request, unless that is one too many. The permit is for release.
func (c *concurrency) admit(priority dynamic.PriorityClass) (permit uint32, admitted bool) {
	index := uint32(priority - dynamic.PriorityLow)
	class := &c.classes[index]
	if limit := class.limit.Load(); limit != unlimited {
		class.arrived.Add(1)
		if limit == 0 || c.serving() >= limit {
			class.refused.Add(1)
			return 0, false
		}
	}
	epoch := c.epoch.Load()
	class.began[epoch%epochs].Add(1)
	return epoch*uint32(classCount) + index, true
}

// release ends the request of a permit.
func (c *concurrency) release(permit uint32) {
	index, epoch := permit%uint32(classCount), permit/uint32(classCount)
	if c.epoch.Load()-epoch <= 1 {
		c.classes[index].ended.Add(1)
		c.classes[index].began[epoch%epochs].Add(-1)
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
	epoch, began := c.epoch.Load(), &c.classes[class].began
	return began[epoch%epochs].Load() + began[(epoch-1)%epochs].Load()
}

// limits reports whether an action limits requests.
func (c *concurrency) limits(action Action) bool {
	return c.classes[action-ShedLow].limit.Load() != unlimited
}

// adjust takes a new measurement. It is called from one goroutine.
func (c *concurrency) adjust(measured measurement, steps *[actionCount]step, now time.Time) {
	c.rotate(now)
	c.estimate(measured.pressure, now)
	if c.limited == unrestricted {
		pressure := measured.lasting
		if c.crowded() {
			pressure = measured.pressure
		}
		if next := c.above(unrestricted, pressure, steps); next != unrestricted {
			c.begin(next, measured, steps, now)
		} else {
			c.average(now)
		}
	} else {
		c.change(measured, steps, now)
	}
	c.adjusted, c.served = now, c.serving()
	c.apply(steps)
}

// estimate updates the rate, and the latency by Little's law: as many requests are served as end in it. The time in a
// queue is no part of the latency, which is not updated while the queue is long. While there is a limit, half of that
// is long: otherwise the time in the queue that the limit leaves would count, and the limit not fall.
func (c *concurrency) estimate(pressure float64, now time.Time) {
	var ended uint64
	for i := range c.classes {
		ended += c.classes[i].ended.Swap(0)
	}
	if c.adjusted.IsZero() || !now.After(c.adjusted) {
		return
	}
	c.last = float64(ended) / now.Sub(c.adjusted).Seconds()
	c.rate = max(c.last, c.rate*(1-min(now.Sub(c.adjusted).Seconds()/rateTime.Seconds(), 1)))
	long := float64(atOption)
	if c.limited != unrestricted {
		long /= 2
	}
	fewer, more := float64(min(c.serving(), c.served)), float64(max(c.serving(), c.served))
	if ended == 0 || pressure >= long || more-fewer > even*more+1 {
		return
	}
	latency := min(time.Duration((fewer+more)/2/c.last*float64(time.Second)), 2*epochTime)
	if c.latency == 0 {
		c.latency = latency
	}
	c.latency += (latency - c.latency) / latencyTime
}

// average adds the rate to the usual one, which rises faster than it falls.
func (c *concurrency) average(now time.Time) {
	if c.adjusted.IsZero() {
		return
	}
	if c.usual == 0 {
		c.usual = c.last
	}
	passed := now.Sub(c.adjusted).Seconds()
	if c.last > c.usual {
		passed *= rising
	}
	c.usual += min(passed/usualTime.Seconds(), 1) * (c.last - c.usual)
}

// without returns how many requests of a rate are served at a time without a queue; 0 is also unknown.
func (c *concurrency) without(rate float64) float64 { return rate * c.latency.Seconds() }

// crowded reports whether far more requests are served, and end, than usual. Then a long wait is no exception, and the
// requests are none that wait for something else, such as long polls that were all answered at once.
func (c *concurrency) crowded() bool {
	usual := c.without(c.usual)
	return usual > 0 && c.last > busier*c.usual && float64(c.serving()) > crowd*max(usual, c.processors, leastGrowth)
}

// begin limits a class. The first limit is in proportion to the pressure.
func (c *concurrency) begin(class int, measured measurement, steps *[actionCount]step, now time.Time) {
	c.classes[class].arrived.Store(0)
	c.classes[class].refused.Store(0)
	serving := float64(c.serving())
	factor := max(measured.factor(steps[ShedLow+Action(class)].begins), steepest)
	c.limited, c.limit = class, max(factor*serving, min(c.without(c.rate), serving), c.floor())
	c.needed, c.effective, c.lowered = now, now, now
}

// factor returns the part that the threshold is of the pressure. Where the measurement before was below the threshold,
// this one may be an exception, and the square root counts.
func (m measurement) factor(threshold float64) float64 {
	if m.lasting < threshold {
		return math.Sqrt(threshold / m.pressure)
	}
	return threshold / m.lasting
}

// floor is the least limit.
func (c *concurrency) floor() float64 { return max(c.processors, leastPart*c.without(c.usual)) }

// change lowers the limit while the queue is too long; otherwise it raises it while requests are refused, and limits a
// less important class when none are.
func (c *concurrency) change(measured measurement, steps *[actionCount]step, now time.Time) {
	class := &c.classes[c.limited]
	arrived, refused := class.arrived.Swap(0), class.refused.Swap(0)
	threshold := steps[ShedLow+Action(c.limited)].begins
	if measured.pressure < threshold || c.limit > c.floor() && arrived > refused {
		c.effective = now
	}
	switch {
	case measured.pressure >= threshold:
		c.needed = now
		if now.Sub(c.effective) >= exhausted+2*c.latency {
			if next := c.above(c.limited, measured.lasting, steps); next != unrestricted {
				c.begin(next, measured, steps, now)
				return
			}
		}
		c.lower(measured, threshold, now)
	case refused > 0:
		c.needed = now
		room := 1 - measured.pressure/threshold
		c.limit += room * max(leastGrowth, c.limit) * c.growth(now.Sub(c.adjusted))
	case now.Sub(c.needed) >= unneeded:
		c.needed, c.effective = now, now
		c.limited, c.limit = below(c.limited, steps), max(float64(c.serving()+1), c.floor())
		if c.limited != unrestricted {
			c.classes[c.limited].arrived.Store(0)
			c.classes[c.limited].refused.Store(0)
		}
	}
}

// growth returns how much a limit grows in a time at most, as a part of it. What it admits reaches the queue only
// after requests have waited for endpoints, up to a latency later.
func (c *concurrency) growth(in time.Duration) float64 {
	return min(growth*in.Seconds(), growthByLatency*in.Seconds()/max(c.latency, time.Millisecond).Seconds(), growth)
}

// lower lowers the limit by the pressure, once the last limit has had its effect. It lowers the part above the number
// of requests that are served without a queue: with less than that, the resource would be idle at times. That number
// does not include the requests in the queue, as far as half of the longest waits shows them, and is too high when the
// pressure is excessive.
func (c *concurrency) lower(measured measurement, threshold float64, now time.Time) {
	serving := float64(c.serving())
	if measured.since.Before(c.lowered.Add(c.latency)) || serving > c.limit {
		return
	}
	wait := measured.wait.Seconds() * min(measured.lasting/measured.pressure, 1)
	without := max(min(c.without(c.rate), c.limit, serving-c.rate*wait/2), 0)
	if measured.lasting >= excessive*threshold {
		without = 0
	}
	if c.last > 0 {
		longest := max(serving/c.last-wait/2, 0)
		c.latency = min(c.latency, time.Duration(longest*float64(time.Second)))
	}
	factor := max(measured.factor(threshold), steep)
	c.limit, c.lowered = max(without+(c.limit-without)*factor, c.floor()), now
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
	for i := range c.classes {
		limit := int64(unlimited)
		switch {
		case i > c.limited || steps[ShedLow+Action(i)].begins == 0:
		case i == c.limited:
			limit = int64(c.limit)
		default:
			limit = 0
		}
		c.classes[i].limit.Store(limit)
	}
}

// rotate begins an epoch when the current one is over.
func (c *concurrency) rotate(now time.Time) {
	if now.Sub(c.rotated) < epochTime {
		return
	}
	c.rotated = now
	next := c.epoch.Load() + 1
	for i := range c.classes {
		c.classes[i].began[next%epochs].Store(0)
	}
	c.epoch.Store(next)
}
