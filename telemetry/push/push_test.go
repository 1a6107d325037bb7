package push

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is an exporter that keeps what it is given, and fails while it is set to.
type memory struct {
	sdkmetric.Exporter

	mu     sync.Mutex
	pushes []map[string]metricdata.Metrics
	fails  error
	closed bool
}

func (*memory) Temporality(kind sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(kind)
}

func (*memory) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(kind)
}

func (m *memory) Export(_ context.Context, batch *metricdata.ResourceMetrics) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		return m.fails
	}
	byName := map[string]metricdata.Metrics{}
	for _, scope := range batch.ScopeMetrics {
		for _, metric := range scope.Metrics {
			byName[metric.Name] = metric
		}
	}
	m.pushes = append(m.pushes, byName)
	return nil
}

func (*memory) ForceFlush(context.Context) error { return nil }

func (m *memory) Shutdown(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// recover has the exporter work again.
func (m *memory) recover() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = nil
}

// seen returns what has been pushed.
func (m *memory) seen() []map[string]metricdata.Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.pushes)
}

// config returns the options by default.
func config() static.MetricOTLP {
	var c static.MetricOTLP
	c.SetDefaults()
	return c
}

// counted returns metrics of three requests to the entrypoint web.
func counted(c static.MetricOTLP) *metrics.Metrics {
	m := metrics.New(metrics.Options{Pushed: View(c)})
	for _, duration := range []time.Duration{3 * time.Millisecond, 40 * time.Millisecond, time.Minute} {
		m.Entrypoint("web").Count(&metrics.Request{
			Method: "GET", Protocol: "http", Status: 200, Duration: duration, BytesSent: 5,
		})
	}
	m.Entrypoint("web").Opened()
	return m
}

func TestMetricsArePushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config()
		m := counted(c)
		exporter := &memory{}
		push, err := New(c, m.Pushed(), exporter)
		if err != nil {
			t.Fatal(err)
		}
		<-time.NewTimer(10*time.Second + time.Millisecond).C
		synctest.Wait()
		if len(exporter.seen()) != 1 {
			t.Fatalf("%d pushes, want 1", len(exporter.seen()))
		}
		pushed := exporter.seen()[0]
		requests := pushed["traefik_entrypoint_requests_total"].Data.(metricdata.Sum[float64])
		point := requests.DataPoints[0]
		if !requests.IsMonotonic || requests.Temporality != metricdata.CumulativeTemporality || point.Value != 3 ||
			point.StartTime.IsZero() {
			t.Errorf("requests %+v", requests)
		}
		if got := point.Attributes.Encoded(attribute.DefaultEncoder()); got != "code=200,entrypoint=web,method=GET,protocol=http" {
			t.Errorf("attributes %s", got)
		}
		durations := pushed["traefik_entrypoint_request_duration_seconds"]
		histogram := durations.Data.(metricdata.Histogram[float64]).DataPoints[0]
		want := []uint64{1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
		if diff := cmp.Diff(want, histogram.BucketCounts); diff != "" || histogram.Count != 3 ||
			len(histogram.Bounds) != 14 || durations.Unit != "s" {
			t.Errorf("count %d, %d bounds, unit %q, buckets (-want +got):\n%s", histogram.Count, len(histogram.Bounds),
				durations.Unit, diff)
		}
		if open := pushed["traefik_open_connections"].Data.(metricdata.Gauge[float64]).DataPoints[0]; open.Value != 1 {
			t.Errorf("%v open connections, want 1", open.Value)
		}
		if sent := pushed["traefik_entrypoint_responses_bytes_total"]; sent.Unit != "By" ||
			sent.Data.(metricdata.Sum[float64]).DataPoints[0].Value != 15 {
			t.Errorf("bytes %+v", sent)
		}
		if _, ok := pushed["go_gc_duration_seconds"].Data.(metricdata.Summary); !ok {
			t.Error("summaries are not pushed")
		}
		if err := push.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(exporter.seen()) != 2 || !exporter.closed {
			t.Errorf("%d pushes and closed %v after the end, want 2 and closed", len(exporter.seen()), exporter.closed)
		}
	})
}

func TestWithoutBoundariesHistogramsAreExponential(t *testing.T) {
	c := config()
	c.ExplicitBoundaries = []float64{}
	exporter := &memory{}
	push, err := New(c, counted(c).Pushed(), exporter)
	if err != nil {
		t.Fatal(err)
	}
	if err := push.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := push.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	point := exporter.seen()[0]["traefik_entrypoint_request_duration_seconds"].Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
	if point.Count != 3 || point.Scale != 3 {
		t.Fatalf("count %d, scale %d", point.Count, point.Scale)
	}
	var found []int
	for i, count := range point.PositiveBucket.Counts {
		for range count {
			found = append(found, int(point.PositiveBucket.Offset)+i)
		}
	}
	// Bucket i holds what is above 2^(i/8) and at most 2^((i+1)/8).
	if diff := cmp.Diff([]int{-68, -38, 47}, found); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

// TestAFailedPushLosesNothing demands that the next push has what the failed one had.
func TestAFailedPushLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config()
		exporter := &memory{fails: errors.New("collector is down")}
		push, err := New(c, counted(c).Pushed(), exporter)
		if err != nil {
			t.Fatal(err)
		}
		<-time.NewTimer(15 * time.Second).C
		synctest.Wait()
		exporter.recover()
		<-time.NewTimer(10 * time.Second).C
		synctest.Wait()
		if len(exporter.seen()) != 1 {
			t.Fatalf("%d pushes, want 1", len(exporter.seen()))
		}
		counted := exporter.seen()[0]["traefik_entrypoint_requests_total"].Data.(metricdata.Sum[float64])
		if got := counted.DataPoints[0].Value; got != 3 {
			t.Errorf("%v requests, want 3", got)
		}
		if err := push.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnIntervalThatIsNoneIsRefused(t *testing.T) {
	c := config()
	c.PushInterval = 0
	if _, err := New(c, counted(c).Pushed(), &memory{}); err == nil || !strings.Contains(err.Error(),
		"metrics.otlp.pushInterval") {
		t.Errorf("error %v", err)
	}
}
