package metrics

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// historyEvery is the time between two samples, historyLength how many are kept: five minutes.
	historyEvery  = 2 * time.Second
	historyLength = 150
	// pruneEvery is the number of samples after which removed series are dropped where metrics are not scraped.
	pruneEvery = 30
	// ratesEvery is the number of samples after which the rates of routers and services are computed: ten seconds.
	ratesEvery = 5
)

// TrafficHistory is how traffic went in the last minutes, oldest first.
type TrafficHistory struct {
	// Interval is the time between two samples in seconds.
	Interval float64 `json:"interval"`
	// Times are when the samples were taken, in milliseconds of Unix time. Each list below has as many members.
	Times       []int64             `json:"times"`
	EntryPoints []EntrypointHistory `json:"entryPoints"`
}

// EntrypointHistory is how the traffic of one entrypoint went. A member of a list is about the time since the
// member before.
type EntrypointHistory struct {
	// Name is the entrypoint's.
	Name string `json:"name"`
	// Requests, Errors and ClientErrors are per second; an error is a response with a 5xx code, a client error one with
	// a 4xx code.
	Requests     []float64 `json:"requests"`
	Errors       []float64 `json:"errors"`
	ClientErrors []float64 `json:"clientErrors"`
	// P50, P95 and P99 are quantiles of durations in seconds; 0 where there was no request.
	P50 []float64 `json:"p50"`
	P95 []float64 `json:"p95"`
	P99 []float64 `json:"p99"`
}

// trafficSample is one member of each list of an entrypoint.
type trafficSample struct{ requests, errors, clientErrors, p50, p95, p99 float64 }

// Sampler samples the traffic of entrypoints.
type Sampler struct {
	set *SeriesSet

	mu    sync.Mutex
	times []time.Time
	// samples has for each entrypoint as many as there are times; those before it was known are zero.
	samples map[string][]trafficSample
	last    map[string]trafficCount

	// rates are those of routers and of services over the last interval of ratesEvery; they do not change.
	rates [2]atomic.Pointer[map[string]TrafficRate]
}

// trafficCount is what an entrypoint had counted at a sample.
type trafficCount struct {
	requests, errors, clientErrors uint64
	native                         []uint64
}

func newSampler(set *SeriesSet) *Sampler {
	return &Sampler{set: set, samples: map[string][]trafficSample{}}
}

// History returns the samples that Run has taken, by name of the entrypoint.
func (s *Sampler) History() TrafficHistory {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := TrafficHistory{Interval: historyEvery.Seconds(), Times: []int64{}, EntryPoints: []EntrypointHistory{}}
	for _, at := range s.times {
		result.Times = append(result.Times, at.UnixMilli())
	}
	for _, series := range s.set.list(TrafficEntrypoints, nil) {
		if samples, ok := s.samples[series.name]; ok {
			result.EntryPoints = append(result.EntryPoints, columns(series.name, samples))
		}
	}
	return result
}

// columns turns samples into lists.
func columns(name string, samples []trafficSample) EntrypointHistory {
	e := EntrypointHistory{Name: name}
	for _, list := range []*[]float64{&e.Requests, &e.Errors, &e.ClientErrors, &e.P50, &e.P95, &e.P99} {
		*list = make([]float64, len(samples))
	}
	for i, s := range samples {
		e.Requests[i], e.Errors[i], e.ClientErrors[i] = s.requests, s.errors, s.clientErrors
		e.P50[i], e.P95[i], e.P99[i] = s.p50, s.p95, s.p99
	}
	return e
}

// Run takes a sample of each entrypoint every two seconds, and drops series that are gone, until the context is done.
func (s *Sampler) Run(ctx context.Context) {
	ticker := time.NewTicker(historyEvery)
	defer ticker.Stop()
	before := time.Now()
	s.count()
	rated := s.rate(ratedCounts{}, before)
	for taken := 1; ; taken++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			s.sample(now, now.Sub(before))
			before = now
			if taken%ratesEvery == 0 {
				rated = s.rate(rated, now)
			}
			if taken%pruneEvery == 0 {
				s.set.prune()
			}
		}
	}
}

// count reads all entrypoints, as what the first sample is compared with.
func (s *Sampler) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.counts()
}

// counts returns what each entrypoint has counted.
func (s *Sampler) counts() map[string]trafficCount {
	all := s.set.list(TrafficEntrypoints, nil)
	counts := make(map[string]trafficCount, len(all))
	for _, series := range all {
		t, native := Traffic{}, make([]uint64, nativeBuckets)
		series.shards.all(func(key uint64, c *shard) { t.add(key, c, native) })
		counts[series.name] = trafficCount{
			requests: t.Requests, errors: t.ServerErrors, clientErrors: t.ClientErrors, native: native,
		}
	}
	return counts
}

// sample notes what has happened since the last sample.
func (s *Sampler) sample(now time.Time, since time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since <= 0 {
		return
	}
	if len(s.times) == historyLength {
		s.times = append(s.times[:0], s.times[1:]...)
		for name, samples := range s.samples {
			s.samples[name] = append(samples[:0], samples[1:]...)
		}
	}
	s.times = append(s.times, now)
	counts := s.counts()
	for name, count := range counts {
		samples := s.samples[name]
		if samples == nil {
			samples = make([]trafficSample, len(s.times)-1, historyLength)
		}
		s.samples[name] = append(samples, compare(s.last[name], count, since.Seconds()))
	}
	for name := range s.samples {
		if _, listed := counts[name]; !listed {
			delete(s.samples, name)
		}
	}
	s.last = counts
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
		requests:     float64(after.requests-before.requests) / seconds,
		errors:       float64(after.errors-before.errors) / seconds,
		clientErrors: float64(after.clientErrors-before.clientErrors) / seconds,
		p50:          quantile(between, total, 0.50),
		p95:          quantile(between, total, 0.95),
		p99:          quantile(between, total, 0.99),
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
