package telemetry

import (
	"crypto/tls"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	dto "github.com/prometheus/client_model/go"
)

// What the families of a level mean.
const (
	requestsHelp  = "Requests answered, by code, method and protocol."
	secureHelp    = "Requests answered over TLS, by version and cipher."
	durationsHelp = "How long requests took until their response was complete."
	receivedHelp  = "Bytes of the bodies of requests."
	sentHelp      = "Bytes of the bodies of responses."
)

// page collects the five families of one level: traefik_<level>_requests_total and so on.
type page struct {
	view      *view
	level     string
	requests  *dto.MetricFamily
	secure    *dto.MetricFamily
	durations *dto.MetricFamily
	received  *dto.MetricFamily
	sent      *dto.MetricFamily
	// native is the memory in which one cell after the other is read.
	native []uint64
}

func newPage(v *view, l level) *page {
	return &page{
		view: v, level: l.label, native: make([]uint64, nativeBuckets),
		requests:  family(l.requests, requestsHelp, dto.MetricType_COUNTER),
		secure:    family(l.secure, secureHelp, dto.MetricType_COUNTER),
		durations: family(l.durations, durationsHelp, dto.MetricType_HISTOGRAM),
		received:  family(l.received, receivedHelp, dto.MetricType_COUNTER),
		sent:      family(l.sent, sentHelp, dto.MetricType_COUNTER),
	}
}

func family(name, help string, kind dto.MetricType) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
}

// families returns those that have any metric.
func (p *page) families() []*dto.MetricFamily {
	all := []*dto.MetricFamily{p.requests, p.secure, p.durations, p.received, p.sent}
	return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool { return len(f.GetMetric()) == 0 })
}

// add adds what a series has counted.
func (p *page) add(s *Series) {
	own := []*dto.LabelPair{pair(p.level, s.name)}
	if s.router {
		own = append(own, pair("service", s.service))
	}
	s.cells.sorted(func(key uint64, c *cell) { p.cell(own, key, c.read(p.native)) })
	s.secure.sorted(func(key uint64, count *atomic.Uint64) {
		labels := sorted(own, pair("tls_version", TLSVersionName(uint16(key>>16))), pair("tls_cipher", tls.CipherSuiteName(uint16(key))))
		p.secure.Metric = append(p.secure.Metric, counter(labels, count.Load()))
	})
}

// cell adds what one cell has counted.
func (p *page) cell(own []*dto.LabelPair, key uint64, t tally) {
	labels := sorted(own, pair("code", strconv.Itoa(keyStatus(key))), pair("method", methodName(keyMethod(key))),
		pair("protocol", protocolName(keyProtocol(key))))
	p.durations.Metric = append(p.durations.Metric, &dto.Metric{Label: labels, Histogram: t.histogram(p.view)})
	p.received.Metric = append(p.received.Metric, counter(labels, t.received))
	p.sent.Metric = append(p.sent.Metric, counter(labels, t.sent))
	if p.view.metrics.labels == nil {
		p.requests.Metric = append(p.requests.Metric, counter(labels, t.count))
		return
	}
	known := p.view.metrics.labels.known.Load()
	for i, count := range t.combinations {
		if count == 0 || i >= len(known.values) {
			continue
		}
		with := slices.Clone(labels)
		for j, label := range p.view.metrics.labels.labels {
			with = append(with, pair(label, known.values[i][j]))
		}
		p.requests.Metric = append(p.requests.Metric, counter(sorted(with), count))
	}
}

// histogram returns classic and native buckets. The count is that of the native buckets, which hold everything.
func (t *tally) histogram(v *view) *dto.Histogram {
	h := &dto.Histogram{SampleCount: &t.count, SampleSum: &t.seconds}
	for i, at := range v.picked {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &v.options.Buckets[i], CumulativeCount: &t.classic[at]})
	}
	h.Schema = new(int32(nativeSchema))
	h.ZeroThreshold = new(nativeBound(0))
	h.ZeroCount = new(t.native[0])
	last, before := 0, int64(0)
	for i := 1; i < len(t.native); i++ {
		if t.native[i] == 0 {
			continue
		}
		if spans := len(h.PositiveSpan); spans > 0 && last == i-1 {
			*h.PositiveSpan[spans-1].Length++
		} else {
			offset := int32(i - last - 1)
			if spans == 0 {
				offset = int32(i + nativeLowest*nativePerOctave)
			}
			h.PositiveSpan = append(h.PositiveSpan, &dto.BucketSpan{Offset: &offset, Length: new(uint32(1))})
		}
		h.PositiveDelta = append(h.PositiveDelta, int64(t.native[i])-before)
		last, before = i, int64(t.native[i])
	}
	if len(h.PositiveSpan) == 0 { // Otherwise nothing tells a native histogram without observations from a classic one.
		h.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
	return h
}

// openConnections are the connections of all entrypoints.
func (m *Metrics) openConnections() standing {
	return standing{
		name: "traefik_open_connections", help: "Connections that are open on an entrypoint.", labels: []string{"entrypoint", "protocol"},
		read: func(set func(value float64, labels ...string)) {
			for _, s := range m.owners.list(TrafficEntrypoints, nil) {
				set(float64(m.Entrypoint(s.name).open.Load()), s.name, "TCP")
			}
		},
	}
}

func pair(name, value string) *dto.LabelPair {
	value = text(value)
	return &dto.LabelPair{Name: &name, Value: &value}
}

func counter(labels []*dto.LabelPair, count uint64) *dto.Metric {
	return &dto.Metric{Label: labels, Counter: &dto.Counter{Value: new(float64(count))}}
}

// sorted returns the labels by name, in a slice of its own.
func sorted(labels []*dto.LabelPair, more ...*dto.LabelPair) []*dto.LabelPair {
	all := slices.Concat(labels, more)
	slices.SortFunc(all, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}
