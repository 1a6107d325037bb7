package metrics

import (
	"net/http"
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// otherValueName is OpenTelemetry's value for methods and errors without a name of their own.
const otherValueName = "_OTHER"

// ServedDuration is the name of the histogram of OpenTelemetry's semantic conventions for HTTP servers.
const ServedDuration = "http.server.request.duration"

// pushed gathers what is pushed.
type pushed struct {
	consumer *consumer
	served   *Series
}

// Gather returns all families.
func (p *pushed) Gather() ([]*dto.MetricFamily, error) {
	families, err := p.consumer.Gather()
	for _, family := range families {
		if len(p.consumer.requests.buckets) > 0 {
			dropNative(family)
		}
	}
	if served := p.servedFamily(); len(served.GetMetric()) > 0 {
		families = append(families, served)
	}
	return families, err
}

// dropNative removes native buckets where there are classic ones.
func dropNative(family *dto.MetricFamily) {
	for _, metric := range family.GetMetric() {
		if h := metric.GetHistogram(); len(h.GetBucket()) > 0 {
			h.Schema, h.ZeroThreshold, h.ZeroCount, h.PositiveSpan, h.PositiveDelta = nil, nil, nil, nil, nil
		}
	}
}

// servedFamily returns the durations of the requests of all entrypoints with the attributes of the semantic
// conventions. The host is not among them, since clients choose it.
func (p *pushed) servedFamily() *dto.MetricFamily {
	family := &dto.MetricFamily{
		Name: new(ServedDuration), Help: new("Duration of HTTP server requests."), Type: dto.MetricType_HISTOGRAM.Enum(),
	}
	native := make([]uint64, nativeBuckets)
	p.served.shards.all(func(key uint64, shard *shard) {
		t := shard.read(native)
		family.Metric = append(family.Metric, &dto.Metric{
			Label: servedBy(key).labels(), Histogram: p.consumer.requests.histogram(&t),
		})
	})
	return family
}

// labels returns the attributes of the semantic conventions. network.protocol.name of Traefik has the version
// in it, which the conventions keep apart.
func (s served) labels() []*dto.LabelPair {
	method := s.method
	if method == "" {
		method = otherValueName
	}
	labels := []*dto.LabelPair{
		pair("http.request.method", method), pair("network.protocol.name", "http"), pair("url.scheme", s.scheme),
	}
	if s.version != "" {
		labels = append(labels, pair("network.protocol.version", s.version))
	}
	switch {
	case s.status == 0:
		return append(labels, pair("error.type", otherValueName))
	case s.status >= http.StatusInternalServerError:
		labels = append(labels, pair("error.type", strconv.Itoa(s.status)))
	}
	return append(labels, pair("http.response.status_code", strconv.Itoa(s.status)))
}
