package adaptiveconcurrency

import (
	"math"
	"time"
)

const (
	// smoothing is the part of a change of the limit that is made at a time.
	smoothing = 0.4
	// leastFactor and mostFactor are by which factors a window changes the limit at most, before smoothing.
	leastFactor = 0.5
	mostFactor  = 2
	// longWindows is over how many windows the long latency is an exponential average, after warmWindows in which it is
	// the mean.
	longWindows = 600
	warmWindows = 10
	// shorterFactor lowers a long latency that is more than twice that of a window.
	shorterFactor = 0.8
	// failedPart is the part of the answers from which on failures lower the limit, by failureFactor.
	failedPart    = 10
	failureFactor = 0.9
	// rateTime and rateResponses are over which time and number of responses their rate is averaged, and bestTime is that
	// in which the best one is forgotten.
	rateTime      = 500 * time.Millisecond
	rateResponses = 100
	bestTime      = time.Minute
	// aboutEqual is the part of the best rate from which on a rate is about as good. The best rate is an average of these,
	// with bestWeight for a new one, as the largest one is due to chance.
	aboutEqual = 0.85
	bestWeight = 0.05
	// slowerRate is the part of the best rate below which a service has become slower, at the best limit. inVain is the
	// part of the best limit below which a rate that has fallen alike, up to alike times as much, shows the same.
	slowerRate = 0.6
	inVain     = 0.7
	alike      = 1.15
)

// window is what was measured between two changes of the limit.
type window struct {
	elapsed time.Duration
	// responses is the number of exchanges with a latency, median the median of these, of which bound says that it is only
	// known to be at least that, and failed the number of answers that say that the service is overloaded.
	responses int
	median    time.Duration
	bound     bool
	failed    int
	// reached says that a request found the limit reached, and used that more than half of the limit was in use.
	reached, used bool
}

// gradient is the algorithm Gradient2 of Netflix's concurrency-limits. The gradient is the long latency, with the
// tolerance, over that of the last window. The limit is multiplied by it, and its square root is added, which is how
// many requests may queue in the service. Until a gradient is below 1 for the first time, the limit is doubled.
//
// The long latency is an average, which Gradient2 always updates. Where the limit is reached, the latency contains the
// queue of the service, so that limit and long latency would raise each other. Here it does not rise then, unless the
// service has become slower: it answers far fewer requests than before at the same limit, or has not become faster by a
// lower one, as it does if the latency is that of a queue.
type gradient struct {
	settings *settings
	limit    float64
	// found says that the limit has been near what the service bears.
	found bool
	// long is the long latency in nanoseconds, learned from a number of windows.
	long    float64
	windows int
	// rate is the average of responses a second while the limit is reached, best the best one, and bestLimit the least
	// limit at which it was about as good.
	rate, best, bestLimit float64
}

// change sets the limit after a window, and reports whether it has grown.
func (g *gradient) change(w window) (grown bool) {
	before := g.limit
	if w.responses > 0 && (g.windows > 0 || !w.bound) { // The first latency is that of responses.
		g.follow(w, max(float64(w.median), 1))
	}
	if failedPart*w.failed >= w.responses+w.failed && w.failed > 0 {
		g.found = true
		g.limit = min(g.limit, before) * failureFactor
	}
	g.limit = min(max(g.limit, float64(g.settings.least)), float64(g.settings.most))
	return g.limit > before
}

// follow updates the long latency and the limit by the latency of a window.
func (g *gradient) follow(w window, short float64) {
	warm := g.windows >= warmWindows
	if !w.reached && (!warm || !w.used) || short < g.long || g.windows == 0 ||
		!warm && short < g.settings.tolerance*g.long {
		g.learn(short)
	}
	if w.reached {
		g.compare(w, short)
	}
	factor := min(max(g.settings.tolerance*g.long/short, leastFactor), mostFactor)
	next := g.limit*factor + math.Sqrt(g.limit)
	switch g.found = g.found || factor < 1; {
	case !w.used || next > g.limit && !w.reached: // The limit would grow without any experience.
	case !g.found:
		g.limit *= 2
	default:
		g.limit += (next - g.limit) * smoothing
	}
}

// learn updates the long latency, which follows one that is much shorter faster.
func (g *gradient) learn(short float64) {
	g.windows = min(g.windows+1, longWindows)
	weight := 2 / float64(longWindows+1)
	if g.windows <= warmWindows {
		weight = 1 / float64(g.windows)
	}
	g.long += (short - g.long) * weight
	if short < g.long/2 {
		g.long *= shorterFactor
	}
}

// compare raises the long latency if the service has become slower.
func (g *gradient) compare(w window, short float64) {
	rate := float64(w.responses) / w.elapsed.Seconds()
	if g.rate == 0 {
		g.rate = rate
	}
	g.rate += (rate - g.rate) * min(float64(w.elapsed)/float64(rateTime), float64(w.responses)/rateResponses, 1)
	g.best *= max(1-float64(w.elapsed)/float64(bestTime), 0)
	switch {
	case g.rate*aboutEqual > g.best:
		g.best, g.bestLimit = g.rate, g.limit
	case g.rate > g.best*aboutEqual:
		g.best, g.bestLimit = g.best+(g.rate-g.best)*bestWeight, min(g.bestLimit, g.limit)
	case g.limit < g.bestLimit*inVain && g.rate < g.best*alike*g.limit/g.bestLimit:
		g.long, g.limit = max(g.long, short), g.bestLimit
		g.best = g.rate
	case g.limit < g.bestLimit*aboutEqual && g.rate < g.best*slowerRate:
		g.long = max(g.long, min(short, g.long*g.best/g.rate))
		g.best, g.bestLimit = g.rate, g.limit
	}
}
