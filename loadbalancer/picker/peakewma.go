package picker

// peakEWMA draws two candidates by weight and takes the one whose latency, times one more than its requests in flight
// relative to its weight, is lower. About equal ones go to the first that was drawn, so that equal speeds spread evenly
// whatever the noise.
type peakEWMA struct{ candidates weightedCandidates }

// Pick returns the better one of two.
func (p *peakEWMA) Pick(r *Request) int {
	first, second, chance := p.candidates.pair()
	return p.candidates.faster(first, second, chance, p.candidates.latency[first].peakAt(r.Now),
		p.candidates.latency[second].peakAt(r.Now))
}
