package telemetry

import (
	"math"
	"time"
)

// count reads all entrypoints, as what the first sample is compared with.
func (m *Metrics) count() {
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	m.history.last = m.counts()
}

// counts returns what each entrypoint has counted.
func (m *Metrics) counts() map[string]trafficCount {
	all := m.owners.list(TrafficEntrypoints, nil)
	counts := make(map[string]trafficCount, len(all))
	for _, series := range all {
		t, native := Traffic{}, make([]uint64, nativeBuckets)
		series.shards.all(func(key uint64, c *shard) { t.add(key, c, native) })
		counts[series.name] = trafficCount{requests: t.Requests, errors: t.ServerErrors, native: native}
	}
	return counts
}

// sample notes what has happened since the last sample.
func (m *Metrics) sample(now time.Time, since time.Duration) {
	h := &m.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if since <= 0 {
		return
	}
	if len(h.times) == historyLength {
		h.times = append(h.times[:0], h.times[1:]...)
		for name, samples := range h.samples {
			h.samples[name] = append(samples[:0], samples[1:]...)
		}
	}
	h.times = append(h.times, now)
	counts := m.counts()
	for name, count := range counts {
		samples := h.samples[name]
		if samples == nil {
			samples = make([]trafficSample, len(h.times)-1, historyLength)
		}
		h.samples[name] = append(samples, compare(h.last[name], count, since.Seconds()))
	}
	h.last = counts
}

// compare returns what happened between two counts.
func compare(before, after trafficCount, seconds float64) trafficSample {
	between := make([]uint64, nativeBuckets)
	total := uint64(0)
	for i := range between {
		between[i] = after.native[i]
		if before.native != nil {
			between[i] -= before.native[i]
		}
		total += between[i]
	}
	return trafficSample{
		requests: float64(after.requests-before.requests) / seconds,
		errors:   float64(after.errors-before.errors) / seconds,
		p50:      quantile(between, total, 0.50),
		p95:      quantile(between, total, 0.95),
		p99:      quantile(between, total, 0.99),
	}
}

// quantile returns the duration in seconds that a share of the requests did not exceed, or 0 without requests.
// Within a bucket, durations are taken to be spread evenly on the scale of its bounds, which is logarithmic.
func quantile(native []uint64, total uint64, share float64) float64 {
	rank := share * float64(total)
	below := 0.0
	for i, count := range native {
		if count == 0 || below+float64(count) < rank {
			below += float64(count)
			continue
		}
		if i == 0 {
			return nativeBound(0)
		}
		within := (rank - below) / float64(count)
		return nativeBound(i-1) * math.Exp2(within/nativePerOctave)
	}
	return 0
}
