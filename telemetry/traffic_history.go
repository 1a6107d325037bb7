package telemetry

import (
	"context"
	"sync"
	"time"
)

const (
	// historyEvery is the time between two samples, historyLength how many are kept: five minutes.
	historyEvery  = 2 * time.Second
	historyLength = 150
	// pruneEvery is the number of samples after which dropped series are removed where metrics are not scraped.
	pruneEvery = 30
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
	// Requests and Errors are per second; an error is a response with a 5xx code.
	Requests []float64 `json:"requests"`
	Errors   []float64 `json:"errors"`
	// P50, P95 and P99 are quantiles of durations in seconds; 0 where there was no request.
	P50 []float64 `json:"p50"`
	P95 []float64 `json:"p95"`
	P99 []float64 `json:"p99"`
}

// trafficSample is one member of each list of an entrypoint.
type trafficSample struct{ requests, errors, p50, p95, p99 float64 }

// history keeps samples.
type history struct {
	mu    sync.Mutex
	times []time.Time
	// samples has for each entrypoint as many as there are times; those before it was known are zero.
	samples map[string][]trafficSample
	last    map[string]trafficCount
}

// trafficCount is what an entrypoint had counted at a sample.
type trafficCount struct {
	requests, errors uint64
	native           []uint64
}

// History returns the samples that Run has taken, by name of the entrypoint.
func (m *Metrics) History() TrafficHistory {
	h := &m.history
	h.mu.Lock()
	defer h.mu.Unlock()
	result := TrafficHistory{Interval: historyEvery.Seconds(), Times: []int64{}, EntryPoints: []EntrypointHistory{}}
	for _, at := range h.times {
		result.Times = append(result.Times, at.UnixMilli())
	}
	for _, series := range m.owners.list(TrafficEntrypoints, nil) {
		if samples, ok := h.samples[series.name]; ok {
			result.EntryPoints = append(result.EntryPoints, columns(series.name, samples))
		}
	}
	return result
}

// columns turns samples into lists.
func columns(name string, samples []trafficSample) EntrypointHistory {
	e := EntrypointHistory{Name: name}
	for _, list := range []*[]float64{&e.Requests, &e.Errors, &e.P50, &e.P95, &e.P99} {
		*list = make([]float64, len(samples))
	}
	for i, s := range samples {
		e.Requests[i], e.Errors[i], e.P50[i], e.P95[i], e.P99[i] = s.requests, s.errors, s.p50, s.p95, s.p99
	}
	return e
}

// Run takes a sample of each entrypoint every two seconds, and drops series that are gone, until the context is done.
func (m *Metrics) Run(ctx context.Context) {
	ticker := time.NewTicker(historyEvery)
	defer ticker.Stop()
	before := time.Now()
	m.count()
	for taken := 1; ; taken++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			m.sample(now, now.Sub(before))
			before = now
			if taken%pruneEvery == 0 {
				m.prune()
			}
		}
	}
}
