package telemetry

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/testing/protocmp"
)

// retold is what is pushed as a gatherer: families are made of what a reader is told.
type retold struct {
	*Pushed
	names    RequestFamilies
	families map[string]*dto.MetricFamily
}

func retell(metrics *Metrics) prometheus.Gatherer { return &retold{Pushed: metrics.Pushed()} }

// Gather returns everything that is pushed.
func (r *retold) Gather() ([]*dto.MetricFamily, error) {
	r.families = map[string]*dto.MetricFamily{}
	families, err := r.Pushed.Gather()
	r.Requests(r)
	return slices.AppendSeq(families, maps.Values(r.families)), err
}

// Level begins a level.
func (r *retold) Level(names RequestFamilies) { r.names = names }

// Cell adds a metric to four families.
func (r *retold) Cell(counts *RequestCounts) {
	for _, part := range counts.Parts {
		r.add(r.names.Requests, dto.MetricType_COUNTER, counter(paired(counts.Labels, part.More), part.Count))
	}
	r.add(r.names.Received, dto.MetricType_COUNTER, counter(paired(counts.Labels, nil), counts.Received))
	r.add(r.names.Sent, dto.MetricType_COUNTER, counter(paired(counts.Labels, nil), counts.Sent))
	d := counts.Durations
	read := tally{native: make([]uint64, nativeBuckets), count: d.Count, seconds: d.Seconds, classic: make([]uint64, len(r.view.metrics.bounds))}
	for i, at := range r.view.picked {
		read.classic[at] = d.Below[i]
	}
	read.native[0] = d.Zero
	for _, bucket := range d.Buckets {
		read.native[bucket.Index+1-nativeLowest*nativePerOctave] = bucket.Count
	}
	r.add(r.names.Durations, dto.MetricType_HISTOGRAM, &dto.Metric{Label: paired(counts.Labels, nil), Histogram: read.histogram(r.view)})
}

// Secure adds a metric.
func (r *retold) Secure(labels []Label, count uint64) {
	r.add(r.names.Secure, dto.MetricType_COUNTER, counter(paired(labels, nil), count))
}

func (r *retold) add(name Family, kind dto.MetricType, metric *dto.Metric) {
	if r.families[name.Name] == nil {
		r.families[name.Name] = family(name.Name, name.Help, kind)
	}
	r.families[name.Name].Metric = append(r.families[name.Name].Metric, metric)
}

func paired(labels, more []Label) []*dto.LabelPair {
	var pairs []*dto.LabelPair
	for _, label := range slices.Concat(labels, more) {
		pairs = append(pairs, &dto.LabelPair{Name: new(label.Name), Value: new(label.Value)})
	}
	return sorted(pairs)
}

// TestReadersAreToldWhatIsGathered demands that what is pushed has the same metrics as what is gathered with the same buckets and levels.
func TestReadersAreToldWhatIsGathered(t *testing.T) {
	for _, labels := range []map[string]string{nil, {"tenant": "X-Tenant", "a_side": "X-Side"}} {
		metrics := odd(t, labels)
		metrics.pushed.options.EntryPoints, metrics.pushed.options.Routers, metrics.pushed.options.Services = true, true, true
		want, got := gathered(t, gatherer{metrics.registry, metrics.pushed}), gathered(t, retell(metrics))
		for name, family := range want {
			if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
				continue
			}
			if diff := gocmp.Diff(ordered(family), ordered(got[name]), protocmp.Transform()); diff != "" {
				t.Errorf("%s (-gathered +told):\n%s", name, diff)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d families, want %d", len(got), len(want))
		}
	}
}

// TestServedRequestsAreToldApart demands that entrypoints together count by method, scheme, version and code, of which clients cannot make
// as many as they like.
func TestServedRequestsAreToldApart(t *testing.T) {
	options := MetricsOptions{Pushed: &MetricsView{Buckets: []float64{1}}}
	metrics := NewMetrics(options)
	secure := &tls.ConnectionState{}
	forwarded := func(scheme string) http.Header { return http.Header{"X-Forwarded-Proto": {scheme}} }
	for _, record := range []Record{
		{Method: "GET", Version: "HTTP/1.1", Status: 200, Entrypoint: "web"},
		{Method: "GET", Version: "HTTP/1.1", Status: 200, Entrypoint: "other", RequestHeader: forwarded("http"), Duration: 3 * time.Second},
		{Method: "GET", Version: "HTTP/1.1", Status: 200, Entrypoint: "web", RequestHeader: forwarded("gopher")},
		{Method: "GET", Version: "HTTP/2.0", Status: 200, Entrypoint: "web", TLS: secure},
		{Method: "GET", Version: "HTTP/2.0", Status: 200, Entrypoint: "web", RequestHeader: forwarded("https")},
		{Method: "GET", Version: "HTTP/1.0", Status: 101, Entrypoint: "web", RequestHeader: forwarded("wss"), TLS: secure},
		{Method: "GET", Version: "HTTP/1.1", Status: 101, Entrypoint: "web", RequestHeader: forwarded("ws")},
		{Method: "TRACE", Version: "HTTP/3.0", Status: 599, Entrypoint: "web", TLS: secure},
		{Method: "BREW", Version: "HTTP/7.0", Status: 700, Entrypoint: "web"},
		{Method: "TEA", Version: "", Status: -1, Entrypoint: "web"},
	} {
		record.Observe = ObserveMetrics
		metrics.Entrypoint(record.Entrypoint).Finished(&record)
	}
	got := map[string]string{}
	metrics.Pushed().Served(func(served Served, d *Durations) {
		got[fmt.Sprintf("%s %s %s %d", served.Method, served.Scheme, served.Version, served.Status)] = fmt.Sprintf("%d %v %v", d.Count, d.Seconds, d.Below)
	})
	want := map[string]string{
		"GET http 1.1 200": "3 3 [2]", "GET https 2 200": "2 0 [2]", "GET wss 1.0 101": "1 0 [1]", "GET ws 1.1 101": "1 0 [1]",
		"TRACE https 3 599": "1 0 [1]", " http  0": "2 0 [2]",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNobodyPaysForWhatIsNotPushed demands that nothing is told apart that nobody gets to see, and that telling apart allocates nothing.
func TestNobodyPaysForWhatIsNotPushed(t *testing.T) {
	if NewMetrics(everything()).Entrypoint("web").served != nil {
		t.Error("requests are told apart although nothing is pushed")
	}
	options := everything()
	options.Pushed = &MetricsView{}
	requests, record := NewMetrics(options).Entrypoint("web"), &Record{Method: "GET", Version: "HTTP/1.1", Status: 200, Observe: ObserveMetrics}
	requests.Finished(record)
	if allocations := testing.AllocsPerRun(100, func() { requests.Finished(record) }); allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
}
