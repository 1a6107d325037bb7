package telemetry

import (
	"encoding/binary"
	"io"

	dto "github.com/prometheus/client_model/go"
)

// delimited writes metrics in Prometheus' delimited protobuf format, with classic and native histograms. A family is preceded by its
// length, so that as much as one family is in memory at a time.
type delimited struct {
	out io.Writer
	err error
	// family, metric and inner are the messages that are being written, each of which becomes a part of the one before.
	family, metric, inner message
	bounds                []float64
	picked                []int
	// below and native are memory to read histograms into.
	below  []uint64
	native []nativeCount
	labels *headerLabels
	pairs  []labelPair
}

// writeDelimited writes what families would return.
func (v *view) writeDelimited(to io.Writer, s sight) error {
	p := &delimited{out: to, bounds: v.options.Buckets, picked: v.picked, labels: v.metrics.labels, below: make([]uint64, len(v.picked))}
	for _, standing := range v.metrics.standings() {
		p.standing(standing)
	}
	for _, ranks := range s.levels {
		p.level(ranks)
	}
	return p.err
}

// begin begins a family.
func (p *delimited) begin(name, help string, kind dto.MetricType) {
	p.family = p.family[:0].text(familyName, name).text(familyHelp, help).number(familyType, uint64(kind))
}

// end writes the family, unless it has no metrics.
func (p *delimited) end(metrics int) {
	if p.err != nil || metrics == 0 {
		return
	}
	p.metric = binary.AppendUvarint(p.metric[:0], uint64(len(p.family)))
	if _, p.err = p.out.Write(p.metric); p.err == nil {
		_, p.err = p.out.Write(p.family)
	}
}

// add adds a metric with its labels and what has been written into inner to the family.
func (p *delimited) add(labels []byte, value field) {
	p.metric = append(p.metric[:0], labels...).bytes(value, p.inner)
	p.family = p.family.bytes(familyMetric, p.metric)
}

// count adds a counter.
func (p *delimited) count(labels []byte, count uint64) {
	p.inner = p.inner[:0].double(counterValue, float64(count))
	p.add(labels, metricCounter)
}

// standing writes a family of gauges.
func (p *delimited) standing(s standing) {
	metrics, labels := 0, []byte(nil)
	p.begin(s.name, s.help, dto.MetricType_GAUGE)
	s.read(func(value float64, values ...string) {
		p.pairs = p.pairs[:0]
		for i, name := range s.labels {
			p.pairs = append(p.pairs, labelPair{name, values[i]})
		}
		metrics, labels = metrics+1, appendMessages(labels[:0], p.pairs)
		p.inner = p.inner[:0].double(gaugeValue, value)
		p.add(labels, metricGauge)
	})
	p.end(metrics)
}

// level writes the families of a level.
func (p *delimited) level(r ranks) {
	rows, labels := rowsOf(r, appendMessages)
	if len(rows) == 0 || p.err != nil {
		return
	}
	p.requests(r, rows, labels)
	p.secure(r)
	p.begin(r.durations, durationsHelp, dto.MetricType_HISTOGRAM)
	for i := range rows {
		p.duration(rows[i].of(labels), rows[i].cell)
	}
	p.end(len(rows))
	p.begin(r.received, receivedHelp, dto.MetricType_COUNTER)
	for i := range rows {
		p.count(rows[i].of(labels), rows[i].cell.received.Load())
	}
	p.end(len(rows))
	p.begin(r.sent, sentHelp, dto.MetricType_COUNTER)
	for i := range rows {
		p.count(rows[i].of(labels), rows[i].cell.sent.Load())
	}
	p.end(len(rows))
}

// requests writes how many requests there were, also by the values of the header labels.
func (p *delimited) requests(r ranks, rows []row, labels []byte) {
	metrics, with := len(rows), []byte(nil)
	p.begin(r.requests, requestsHelp, dto.MetricType_COUNTER)
	if p.labels == nil {
		for i := range rows {
			p.count(rows[i].of(labels), rows[i].cell.native.count())
		}
		p.end(metrics)
		return
	}
	metrics = 0
	for i := range rows {
		p.labels.each(rows[i].cell, func(values []string, count uint64) {
			p.pairs = p.labels.with(r.cell(p.pairs[:0], rows[i].series, rows[i].key), values)
			metrics, with = metrics+1, appendMessages(with[:0], p.pairs)
			p.count(with, count)
		})
	}
	p.end(metrics)
}

// secure writes how many requests came over TLS.
func (p *delimited) secure(r ranks) {
	metrics, labels := 0, []byte(nil)
	p.begin(r.level.secure, secureHelp, dto.MetricType_COUNTER)
	r.eachSecure(func(pairs []labelPair, count uint64) {
		metrics, labels = metrics+1, appendMessages(labels[:0], pairs)
		p.count(labels, count)
	})
	p.end(metrics)
}

// duration adds the histogram of a cell. Classic buckets are read before native ones, whose sum is the count, as read does.
func (p *delimited) duration(labels []byte, c *cell) {
	seconds := float64(c.ticks.Load()) * tick.Seconds()
	c.cumulative(p.picked, p.below)
	zero, count := uint64(0), uint64(0)
	p.native, zero, count = c.native.filled(p.native[:0])
	h := p.inner[:0].number(histogramCount, count).double(histogramSum, seconds)
	for i, bound := range p.bounds {
		h = h.tag(histogramBucket, asBytes)
		// The length, and a bucket without memory of its own.
		h = binary.AppendUvarint(h, uint64(varintLength(p.below[i])+1+9))
		h = h.number(bucketCount, p.below[i]).double(bucketBound, bound)
	}
	h = h.signed(histogramSchema, nativeSchema).double(histogramThreshold, nativeBound(0)).number(histogramZero, zero)
	p.inner = p.deltas(p.spans(h))
	p.add(labels, metricHistogram)
}

// spans adds where the native buckets are that hold something.
func (p *delimited) spans(h message) message {
	if len(p.native) == 0 { // Otherwise nothing tells a native histogram without observations from a classic one.
		return h.span(0, 0)
	}
	first, next := 0, -nativeLowest*nativePerOctave
	for i := range p.native {
		if i+1 < len(p.native) && p.native[i+1].bucket == p.native[i].bucket+1 {
			continue
		}
		from := p.native[first].bucket
		h = h.span(from-next, i+1-first)
		first, next = i+1, p.native[i].bucket+1
	}
	return h
}

// deltas adds what the native buckets hold, each as the difference to the one before.
func (p *delimited) deltas(h message) message {
	before := uint64(0)
	for _, n := range p.native {
		h = h.signed(histogramDelta, int64(n.count)-int64(before))
		before = n.count
	}
	return h
}

// appendMessages appends labels as fields of a metric.
func appendMessages(labels []byte, pairs []labelPair) []byte {
	for _, pair := range pairs {
		value := text(pair.value)
		length := 1 + varintLength(uint64(len(pair.name))) + len(pair.name) + 1 + varintLength(uint64(len(value))) + len(value)
		m := binary.AppendUvarint(message(labels).tag(metricLabel, asBytes), uint64(length))
		labels = message(m).text(labelNames, pair.name).text(labelValue, value)
	}
	return labels
}
