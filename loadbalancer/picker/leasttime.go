package picker

import "math"

const (
	// timeScanned is the largest list of equal weights of which leasttime looks at everybody.
	timeScanned = 16
	// timeSlack is how much worse than the best is as good: means of 100 samples differ by as much among equals.
	timeSlack = 1.25
)

// leastTime takes a candidate with about the lowest product of its mean latency and one more than its requests in flight,
// these relative to its weight: one of all in a small list, else the better one of two that are drawn by weight. With
// different weights it is the better one of two as well, for the reason that leastRequest has.
//
// Traefik divides the whole product by the weight. So the heaviest candidate gets everything while there is little to do;
// here the weight says how often a candidate is drawn, and what is in flight is relative to it.
type leastTime struct{ seats seats }

// Pick returns the one that promises the earliest answer.
func (l *leastTime) Pick(r *Request) int {
	if l.seats.equal && len(l.seats.latency) <= timeScanned {
		return l.scan(r)
	}
	first, second, chance := l.seats.pair()
	return l.seats.faster(first, second, chance, l.seats.latency[first].meanAt(r.Now), l.seats.latency[second].meanAt(r.Now))
}

func (l *leastTime) scan(r *Request) int {
	var speeds [timeScanned]speed
	var scores [timeScanned]float64
	count := len(l.seats.latency)
	fastest := 0.0
	for i := range count {
		speeds[i] = l.seats.latency[i].meanAt(r.Now)
		if latency := speeds[i].latency; latency > 0 && (fastest == 0 || latency < fastest) {
			fastest = latency
		}
	}
	slowest := 0.0
	for i := range count {
		latency := speeds[i].latency
		if latency == 0 {
			latency = max(fastest, 1) // A newcomer counts as fast as the fastest.
		}
		scores[i] = latency * float64(l.seats.inFlight[i].Load()+1)
		slowest = max(slowest, scores[i])
	}
	best := math.Inf(1)
	for i := range count {
		scores[i] += speeds[i].failing * slowest
		best = min(best, scores[i])
	}
	return l.anyOf(scores[:count], best*timeSlack)
}

// anyOf returns one of those whose score is within the limit, of which there is one at least.
func (l *leastTime) anyOf(scores []float64, limit float64) int {
	good := uint64(0)
	for _, score := range scores {
		if score <= limit {
			good++
		}
	}
	skip := l.seats.random.next() % max(good, 1)
	for i, score := range scores {
		if score > limit {
			continue
		}
		if skip == 0 {
			return i
		}
		skip--
	}
	return 0
}
