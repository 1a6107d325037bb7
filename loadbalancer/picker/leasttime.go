package picker

import "math"

// timeScanned is the largest list of equal weights that leasttime scans completely.
const timeScanned = 16

// leastTime draws a candidate by weight, and moves to another one with a lower product of mean latency and
// requests in flight plus one, relative to the weight: the best of all in a small list, else the better of two.
// The probability to move grows with the difference, so that noise does not starve a candidate. With different
// weights it is the better of two as well, for the reason given at leastRequest.
//
// Traefik divides the whole product by the weight, so that the heaviest candidate gets everything under low
// load. Here the weight is the probability of a draw, and requests in flight are relative to it.
type leastTime struct{ candidates weightedCandidates }

// Pick returns the candidate with the earliest expected response.
func (l *leastTime) Pick(r *Request) int {
	if l.candidates.equal && len(l.candidates.latency) <= timeScanned {
		return l.scan(r)
	}
	first, second, chance := l.candidates.pair()
	return l.candidates.faster(first, second, chance, l.candidates.latency[first].meanAt(r.Now),
		l.candidates.latency[second].meanAt(r.Now))
}

func (l *leastTime) scan(r *Request) int {
	var speeds [timeScanned]speed
	var scores [timeScanned]float64
	count := len(l.candidates.latency)
	fastest := 0.0
	for i := range count {
		speeds[i] = l.candidates.latency[i].meanAt(r.Now)
		if latency := speeds[i].latency; latency > 0 && (fastest == 0 || latency < fastest) {
			fastest = latency
		}
	}
	slowest := 0.0
	for i := range count {
		if speeds[i].latency == 0 {
			speeds[i].latency = max(fastest, 1) // A newcomer counts as fast as the fastest.
		}
		scores[i] = speeds[i].latency * float64(l.candidates.inFlight[i].Load()+1)
		slowest = max(slowest, scores[i])
	}
	drawn, rest := l.candidates.aliasTable.at(l.candidates.random.next())
	best, lowest := drawn, math.Inf(1)
	for k := range count {
		// Starts behind the drawn candidate, so that equal ones are not always resolved to the first.
		i := (drawn + k) % count
		if score := scores[i] + speeds[i].failing*slowest; score < lowest {
			best, lowest = i, score
		}
	}
	return l.candidates.faster(drawn, best, lowChance(rest), speeds[drawn], speeds[best])
}
