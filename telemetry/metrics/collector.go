package metrics

import (
	"cmp"
	"crypto/tls"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// requestCollector exposes what is counted for each request to one consumer: the metrics page, or what is pushed.
type requestCollector struct {
	set      *SeriesSet
	labels   *headerLabels
	families []requestFamilies
	// buckets are the upper bounds of the classic buckets, and picked their places among the bounds of the series.
	buckets []float64
	picked  []int
	// native adds native buckets.
	native bool
}

// requestFamilies describes the metrics of one kind of owner: traefik_<label>_requests_total and so on.
type requestFamilies struct {
	kind                                        TrafficKind
	label                                       string
	requests, secure, durations, received, sent *prometheus.Desc
}

// newRequestCollector returns a collector of the families that the view selects.
func newRequestCollector(set *SeriesSet, view View, native bool) *requestCollector {
	c := &requestCollector{set: set, labels: set.labels, buckets: slices.Clone(view.Buckets), native: native}
	for i, bound := range set.bounds {
		if slices.Contains(c.buckets, bound) {
			c.picked = append(c.picked, i)
		}
	}
	for _, level := range []struct {
		shown bool
		kind  TrafficKind
		label string
		more  []string
	}{
		{view.EntryPoints, TrafficEntrypoints, "entrypoint", nil},
		{view.Routers, TrafficRouters, "router", []string{"service"}},
		{view.Services, TrafficServices, "service", nil},
	} {
		if level.shown {
			c.families = append(c.families, describeRequests(level.kind, level.label, level.more, set.labels))
		}
	}
	return c
}

// describeRequests returns the families of a kind of owner, whose name is the value of label.
func describeRequests(kind TrafficKind, label string, more []string, headers *headerLabels) requestFamilies {
	own := append([]string{label}, more...)
	describe := func(metric, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("traefik_"+label+"_"+metric, help, slices.Concat(own, labels), nil)
	}
	kinds := []string{"code", "method", "protocol"}
	counted := kinds
	if headers != nil {
		counted = slices.Concat(kinds, headers.labels)
	}
	return requestFamilies{
		kind: kind, label: label,
		requests: describe("requests_total", "Requests answered, by code, method and protocol.", counted...),
		secure: describe("requests_tls_total", "Requests answered over TLS, by version and cipher.",
			"tls_version", "tls_cipher"),
		durations: describe("request_duration_seconds", "How long requests took until their response was complete.",
			kinds...),
		received: describe("requests_bytes_total", "Bytes of the bodies of requests.", kinds...),
		sent:     describe("responses_bytes_total", "Bytes of the bodies of responses.", kinds...),
	}
}

// Describe sends the descriptions of all families.
func (c *requestCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.families {
		for _, desc := range []*prometheus.Desc{f.requests, f.secure, f.durations, f.received, f.sent} {
			to <- desc
		}
	}
}

// Collect sends the metrics of all series.
func (c *requestCollector) Collect(to chan<- prometheus.Metric) {
	c.set.prune()
	native := make([]uint64, nativeBuckets)
	for i := range c.families {
		for _, s := range c.set.list(c.families[i].kind, nil) {
			c.collect(to, &c.families[i], s, native)
		}
	}
}

// collect sends the metrics of one series. The memory of native is used again for each shard.
func (c *requestCollector) collect(to chan<- prometheus.Metric, f *requestFamilies, s *Series, native []uint64) {
	own := []*dto.LabelPair{pair(f.label, s.name)}
	if f.kind == TrafficRouters {
		own = append(own, pair("service", s.service))
	}
	s.shards.all(func(key uint64, shard *shard) {
		labels := sorted(own, pair("code", strconv.Itoa(keyStatus(key))), pair("method", methodName(keyMethod(key))),
			pair("protocol", protocolName(keyProtocol(key))))
		t := shard.read(native)
		to <- &sample{desc: f.durations, labels: labels, histogram: c.histogram(&t)}
		to <- newCounter(f.received, labels, t.received)
		to <- newCounter(f.sent, labels, t.sent)
		if c.labels == nil {
			to <- newCounter(f.requests, labels, t.count)
			return
		}
		c.labels.each(t.combinations, func(values []string, count uint64) {
			with := slices.Clone(labels)
			for i, label := range c.labels.labels {
				with = append(with, pair(label, values[i]))
			}
			to <- newCounter(f.requests, sorted(with), count)
		})
	})
	s.secure.all(func(key uint64, count *atomic.Uint64) {
		version, cipher := pair("tls_version", TLSVersionName(uint16(key>>16))),
			pair("tls_cipher", tls.CipherSuiteName(uint16(key)))
		to <- newCounter(f.secure, sorted(own, version, cipher), count.Load())
	})
}

// histogram returns what a shard has counted with the buckets of this consumer. The count is that of the native
// buckets, which hold every request.
func (c *requestCollector) histogram(t *shardCounts) *dto.Histogram {
	h := &dto.Histogram{SampleCount: new(t.count), SampleSum: new(t.seconds)}
	buckets := make([]dto.Bucket, len(c.picked))
	for i, at := range c.picked {
		buckets[i].UpperBound, buckets[i].CumulativeCount = &c.buckets[i], &t.classic[at]
		h.Bucket = append(h.Bucket, &buckets[i])
	}
	if c.native {
		addNative(h, t.native)
	}
	return h
}

// addNative adds the buckets of a native histogram: spans of neighbouring buckets, and the difference of each
// count from the one before.
func addNative(h *dto.Histogram, counts []uint64) {
	h.Schema, h.ZeroThreshold, h.ZeroCount = new(int32(nativeSchema)), new(nativeBound(0)), new(counts[0])
	last, before := 0, int64(0)
	for i := 1; i < len(counts); i++ {
		if counts[i] == 0 {
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
		h.PositiveDelta = append(h.PositiveDelta, int64(counts[i])-before)
		last, before = i, int64(counts[i])
	}
	// An empty span distinguishes a native histogram without observations from a classic one.
	if len(h.PositiveSpan) == 0 {
		h.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
}

// sample is a metric with a constant value. client_golang's own constant metrics have either classic or native
// buckets, and labels that no other metric shares.
type sample struct {
	desc      *prometheus.Desc
	labels    []*dto.LabelPair
	counter   *dto.Counter
	histogram *dto.Histogram
}

// Desc returns the description of the metric's family.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write sets labels and value.
func (s *sample) Write(to *dto.Metric) error {
	to.Label, to.Counter, to.Histogram = s.labels, s.counter, s.histogram
	return nil
}

func newCounter(desc *prometheus.Desc, labels []*dto.LabelPair, count uint64) *sample {
	return &sample{desc: desc, labels: labels, counter: &dto.Counter{Value: new(float64(count))}}
}

func pair(name, value string) *dto.LabelPair {
	return &dto.LabelPair{Name: &name, Value: new(text(value))}
}

// sorted returns the labels by name, in a slice of its own.
func sorted(labels []*dto.LabelPair, more ...*dto.LabelPair) []*dto.LabelPair {
	all := slices.Concat(labels, more)
	slices.SortFunc(all, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all
}
