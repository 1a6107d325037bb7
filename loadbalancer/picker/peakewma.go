package picker

// peakEWMA draws two candidates by weight and takes the one whose requests in flight, times its latency, are less. About
// equal ones go to the first that was drawn, so that equal speeds spread evenly whatever the noise.
type peakEWMA struct{ seats seats }

// Pick returns the better one of two.
func (p *peakEWMA) Pick(r *Request) int {
	first, second, chance := p.seats.pair()
	firstLatency, secondLatency := p.seats.all[first].latency.peakAt(r.Now), p.seats.all[second].latency.peakAt(r.Now)
	if firstLatency == 0 || secondLatency == 0 {
		firstLatency, secondLatency = 1, 1 // A newcomer counts as fast as whom it is compared with.
	}
	if chance < p.seats.leanPair(first, second, firstLatency, secondLatency) {
		first = second
	}
	return first
}
