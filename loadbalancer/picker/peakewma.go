package picker

// peakEWMA draws two candidates by weight and takes the one whose latency, times one more than its requests in flight
// relative to its weight, is lower. About equal ones go to the first that was drawn, so that equal speeds spread evenly
// whatever the noise.
type peakEWMA struct{ seats seats }

// Pick returns the better one of two.
func (p *peakEWMA) Pick(r *Request) int {
	first, second, chance := p.seats.pair()
	return p.seats.faster(first, second, chance, p.seats.latency[first].peakAt(r.Now),
		p.seats.latency[second].peakAt(r.Now))
}
