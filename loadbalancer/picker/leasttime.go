package picker

import "math"

// timeScanned is the largest list of equal weights of which leasttime looks at everybody.
const timeScanned = 16

// leastTime draws a candidate by weight and takes it if there is none for which the product of the mean latency and one more
// than the requests in flight, these relative to the weight, is lower: of all in a small list, else of one more that is
// drawn. The more lower, the surer the other one gets the request; so that noise does not starve anybody. With different
// weights it is the better one of two as well, for the reason that leastRequest has.
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
		if speeds[i].latency == 0 {
			speeds[i].latency = max(fastest, 1) // A newcomer counts as fast as the fastest.
		}
		scores[i] = speeds[i].latency * float64(l.seats.inFlight[i].Load()+1)
		slowest = max(slowest, scores[i])
	}
	drawn, rest := l.seats.urn.at(l.seats.random.next())
	best, lowest := drawn, math.Inf(1)
	for k := range count {
		i := (drawn + k) % count // Equals are found first behind whoever was drawn, and not always at the beginning.
		if score := scores[i] + speeds[i].failing*slowest; score < lowest {
			best, lowest = i, score
		}
	}
	return l.seats.faster(drawn, best, lowChance(rest), speeds[drawn], speeds[best])
}
