package telemetry

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// page is the content of one scrape.
type page struct {
	text     string
	families map[string]*dto.MetricFamily
}

// scrape reads the metrics as text.
func (w *world) scrape(t *testing.T) page {
	t.Helper()
	answer := w.sluice.Management().Get("/metrics")
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: status %d", answer.StatusCode)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(answer.Text))
	if err != nil {
		t.Fatalf("/metrics: %v\n%s", err, answer.Text)
	}
	return page{answer.Text, families}
}

// scrapeNative reads them as Prometheus does with native histograms.
func (w *world) scrapeNative(t *testing.T) page {
	t.Helper()
	request := w.sluice.Management().Request(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	answer := w.sluice.Management().Send(request)
	decoder := expfmt.NewDecoder(strings.NewReader(answer.Text), expfmt.ResponseFormat(answer.Header))
	found := page{families: map[string]*dto.MetricFamily{}}
	for {
		family := &dto.MetricFamily{}
		if err := decoder.Decode(family); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("/metrics: %v", err)
		}
		found.families[family.GetName()] = family
	}
}

// labels are those of a metric.
func labels(metric *dto.Metric) map[string]string {
	all := map[string]string{}
	for _, pair := range metric.GetLabel() {
		all[pair.GetName()] = pair.GetValue()
	}
	return all
}

// metrics returns those of a family that have all of the labels, written as "name=value".
func (p page) metrics(name string, wanted ...string) []*dto.Metric {
	var found []*dto.Metric
	for _, metric := range p.families[name].GetMetric() {
		all := labels(metric)
		if !slices.ContainsFunc(wanted, func(label string) bool {
			name, value, _ := strings.Cut(label, "=")
			got, ok := all[name]
			return !ok || got != value
		}) {
			found = append(found, metric)
		}
	}
	return found
}

// value sums up the values of counters, gauges, or the counts of histograms, with these labels.
func (p page) value(name string, wanted ...string) float64 {
	sum := 0.0
	for _, metric := range p.metrics(name, wanted...) {
		sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
	}
	return sum
}

// key writes labels in order.
func key(all map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+"="+all[name])
	}
	return strings.Join(parts, " ")
}
