package telemetry

import (
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// Pushed is everything that is pushed: what /metrics shows, with the buckets and the levels of MetricsOptions.Pushed.
type Pushed struct{ view *view }

// Pushed returns what is pushed. It is nil where MetricsOptions.Pushed is.
func (m *Metrics) Pushed() *Pushed {
	if m.pushed == nil {
		return nil
	}
	return &Pushed{m.pushed}
}

// Gather returns the metrics that are not counted for each request.
func (p *Pushed) Gather() ([]*dto.MetricFamily, error) {
	families, err := p.view.metrics.registry.Gather()
	return append(families, p.view.standings()...), err //nolint:wrapcheck // Whoever gathers says so.
}

// Bounds returns the upper bounds of the classic buckets of durations, in seconds. It must not be changed.
func (p *Pushed) Bounds() []float64 { return p.view.options.Buckets }

// Requests tells everything that is counted for each request.
func (p *Pushed) Requests(to RequestReader) {
	sight := p.view.look()
	r := p.view.cells()
	for i := range sight.levels {
		ranks := &sight.levels[i]
		to.Level(RequestFamilies{
			Family{ranks.requests, requestsHelp},
			Family{ranks.secure, secureHelp},
			Family{ranks.durations, durationsHelp},
			Family{ranks.received, receivedHelp},
			Family{ranks.sent, sentHelp},
		})
		for _, s := range ranks.series {
			s.cells.sorted(func(key uint64, c *cell) {
				r.pairs = ranks.cell(r.pairs[:0], s, key)
				to.Cell(r.read(c))
			})
		}
		ranks.eachSecure(func(pairs []labelPair, count uint64) {
			r.counts.Labels = labelsOf(r.counts.Labels[:0], pairs)
			to.Secure(r.counts.Labels, count)
		})
	}
	p.view.saw(sight)
}

// Served tells how long requests took by what else is told apart of them, for all entrypoints together.
func (p *Pushed) Served(visit func(served Served, durations *Durations)) {
	r := p.view.cells()
	p.view.metrics.served.cells.sorted(func(key uint64, c *cell) {
		r.durations(c)
		visit(servedBy(key), &r.counts.Durations)
	})
}

// cells is memory in which one cell after the other is read.
type cells struct {
	view   *view
	pairs  []labelPair
	native []nativeCount
	counts RequestCounts
}

func (v *view) cells() *cells {
	r := &cells{view: v}
	r.counts.Durations = Durations{Below: make([]uint64, len(v.picked)), Scale: nativeSchema, ZeroBelow: nativeBound(0)}
	return r
}

// read reads a cell whose labels are known.
func (r *cells) read(c *cell) *RequestCounts {
	r.counts.Labels = labelsOf(r.counts.Labels[:0], r.pairs)
	r.counts.Received, r.counts.Sent = c.received.Load(), c.sent.Load()
	r.counts.Parts = r.counts.Parts[:0]
	r.durations(c)
	labels := r.view.metrics.labels
	if labels == nil {
		r.counts.Parts = append(r.counts.Parts, RequestPart{Count: r.counts.Durations.Count})
		return &r.counts
	}
	labels.each(c, func(values []string, count uint64) {
		var more []Label
		for i, name := range labels.labels {
			more = append(more, Label{name, values[i]})
		}
		r.counts.Parts = append(r.counts.Parts, RequestPart{more, count})
	})
	return &r.counts
}

// durations reads how long the requests of a cell took: classic buckets before native ones, whose sum is the count, as everywhere.
func (r *cells) durations(c *cell) {
	d := &r.counts.Durations
	d.Seconds = float64(c.ticks.Load()) * tick.Seconds()
	c.cumulative(r.view.picked, d.Below)
	r.native, d.Zero, d.Count = c.native.filled(r.native[:0])
	d.Buckets = slices.Grow(d.Buckets[:0], len(r.native))
	for _, n := range r.native {
		d.Buckets = append(d.Buckets, DurationBucket{n.bucket - 1 + nativeLowest*nativePerOctave, n.count})
	}
}

func labelsOf(labels []Label, pairs []labelPair) []Label {
	for _, pair := range pairs {
		labels = append(labels, Label{pair.name, text(pair.value)})
	}
	return labels
}
