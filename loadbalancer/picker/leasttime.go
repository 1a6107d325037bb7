package picker

const (
	// timeScanned is the largest list of equal weights of which leasttime looks at everybody.
	timeScanned = 16
	// timeDraws is how many candidates it looks at otherwise.
	timeDraws = 4
	// timeSlack is how much worse than the best is as good: means of 100 samples differ by as much among equals.
	timeSlack = 1.25
)

// leastTime takes a candidate with about the lowest mean latency times one more than the requests in flight, these relative
// to its weight: one of all in a small list of equal weights, else the best of several that are drawn by weight.
type leastTime struct{ seats seats }

// Pick returns the one that promises the earliest answer.
func (l *leastTime) Pick(r *Request) int {
	if l.seats.equal && len(l.seats.all) <= timeScanned {
		return l.scan(r)
	}
	best, _ := l.seats.one()
	latency := l.seats.all[best].latency.meanAt(r.Now)
	for range timeDraws - 1 {
		next, chance := l.seats.one()
		if next == best {
			continue
		}
		other := l.seats.all[next].latency.meanAt(r.Now)
		one, two := latency, other
		if one == 0 || two == 0 {
			one, two = 1, 1 // A newcomer counts as fast as whom it is compared with.
		}
		if chance < l.seats.lean(best, next, one, two) {
			best, latency = next, other
		}
	}
	return best
}

func (l *leastTime) scan(r *Request) int {
	var scores [timeScanned]float64
	count := len(l.seats.all)
	fastest := 0.0
	for i := range count {
		scores[i] = l.seats.all[i].latency.meanAt(r.Now)
		if scores[i] > 0 && (fastest == 0 || scores[i] < fastest) {
			fastest = scores[i]
		}
	}
	best := 0.0
	for i := range count {
		if scores[i] == 0 {
			scores[i] = max(fastest, 1) // A newcomer counts as fast as the fastest.
		}
		scores[i] *= l.seats.all[i].load() + 1
		if i == 0 || scores[i] < best {
			best = scores[i]
		}
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
	skip := l.seats.random.next() % good
	for i, score := range scores {
		if score > limit {
			continue
		}
		if skip == 0 {
			return i
		}
		skip--
	}
	return len(scores) - 1
}
