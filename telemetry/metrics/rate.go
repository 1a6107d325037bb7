package metrics

import "time"

// TrafficRate is the traffic of a router or service over about the last ten seconds.
type TrafficRate struct {
	// Requests and ServerErrors are per second; a server error is a response with a 5xx code.
	Requests, ServerErrors float64
}

// ratedCounts are the counts of routers and services at a time.
type ratedCounts struct {
	at     time.Time
	counts [2]map[string]ratedCount
}

// ratedCount is what a router or service has counted since the start.
type ratedCount struct{ requests, errors uint64 }

// ratedKinds are the kinds of which rates are computed, in the order of Sampler.rates.
func ratedKinds() [2]TrafficKind { return [...]TrafficKind{TrafficRouters, TrafficServices} }

// Rates returns the rates of routers or services by name, without those that had no requests. They are computed every
// ten seconds while Run runs. The map must not be changed.
func (s *Sampler) Rates(kind TrafficKind) map[string]TrafficRate {
	for i, rated := range ratedKinds() {
		if rates := s.rates[i].Load(); rated == kind && rates != nil {
			return *rates
		}
	}
	return nil
}

// rate computes the rates since before, and returns the counts that the next ones are computed from.
func (s *Sampler) rate(before ratedCounts, now time.Time) ratedCounts {
	after := ratedCounts{at: now}
	seconds := now.Sub(before.at).Seconds()
	for i, kind := range ratedKinds() {
		after.counts[i] = s.rated(kind)
		if before.counts[i] == nil || seconds <= 0 {
			continue
		}
		rates := map[string]TrafficRate{}
		for name, count := range after.counts[i] {
			was := before.counts[i][name]
			if count.requests > was.requests { // A series that was dropped begins anew.
				rates[name] = TrafficRate{
					Requests:     float64(count.requests-was.requests) / seconds,
					ServerErrors: float64(count.errors-min(was.errors, count.errors)) / seconds,
				}
			}
		}
		s.rates[i].Store(&rates)
	}
	return after
}

// rated returns the counts of a kind by name, without those that are 0.
func (s *Sampler) rated(kind TrafficKind) map[string]ratedCount {
	counts := map[string]ratedCount{}
	for _, series := range s.set.some(kind, nil) {
		own := counts[series.name] // That of a router with another service before.
		series.shards.all(func(key uint64, c *shard) {
			count := c.native.count()
			own.requests += count
			if keyStatus(key)/100 == 5 {
				own.errors += count
			}
		})
		if own.requests > 0 {
			counts[series.name] = own
		}
	}
	return counts
}
