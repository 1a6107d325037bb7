package telemetry

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	logscollector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // Collectors understand it.
	"google.golang.org/protobuf/proto"
)

// collector keeps what it is sent, by gRPC and by HTTP.
type collector struct {
	// hangs blocks responses until it is closed.
	hangs chan struct{}

	mutex   sync.Mutex
	spans   []*tracepb.Span
	metrics map[string]*metricspb.Metric
	// lines are by service.name.
	lines map[string][]*logspb.LogRecord
	names map[string]bool
}

func newCollector() *collector {
	return &collector{
		metrics: map[string]*metricspb.Metric{}, lines: map[string][]*logspb.LogRecord{},
		names: map[string]bool{},
	}
}

// listen serves one transport, and returns the options of Sluice for it.
func (c *collector) listen(t *testing.T, transport string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serve, stop func()
	if transport == "grpc" {
		server := grpc.NewServer()
		tracecollector.RegisterTraceServiceServer(server, traces{c: c})
		metricscollector.RegisterMetricsServiceServer(server, metrics{c: c})
		logscollector.RegisterLogsServiceServer(server, logs{c: c})
		serve, stop = func() { _ = server.Serve(listener) }, server.Stop
	} else {
		server := &http.Server{Handler: c, ErrorLog: log.New(io.Discard, "", 0)}
		serve, stop = func() { _ = server.Serve(listener) }, func() { _ = server.Close() }
	}
	var ended sync.WaitGroup
	ended.Go(serve)
	t.Cleanup(func() {
		if c.hangs != nil {
			close(c.hangs)
		}
		stop()
		ended.Wait()
	})
	return reached(transport, listener.Addr().String())
}

// reached returns the options for a collector.
func reached(transport, address string) string {
	if transport == "grpc" {
		return `grpc: {insecure: true, endpoint: "` + address + `"}`
	}
	return `http: {endpoint: "http://` + address + `"}`
}

// ServeHTTP takes what comes by HTTP.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	message := map[string]proto.Message{
		"/v1/traces":  new(tracecollector.ExportTraceServiceRequest),
		"/v1/metrics": new(metricscollector.ExportMetricsServiceRequest),
		"/v1/logs":    new(logscollector.ExportLogsServiceRequest),
	}[r.URL.Path]
	body, err := read(r)
	if message == nil || err != nil || proto.Unmarshal(body, message) != nil {
		http.Error(w, "this is no OTLP", http.StatusBadRequest)
		return
	}
	_ = c.take(r.Context(), message)
}

func read(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	unzipped, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unzipped)
}

// take keeps a message, or hangs.
func (c *collector) take(ctx context.Context, message proto.Message) error {
	if c.hangs != nil {
		select {
		case <-c.hangs:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch message := message.(type) {
	case *tracecollector.ExportTraceServiceRequest:
		for _, resource := range message.GetResourceSpans() {
			c.names["traces "+name(resource.GetResource().GetAttributes())] = true
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	case *metricscollector.ExportMetricsServiceRequest:
		for _, resource := range message.GetResourceMetrics() {
			c.names["metrics "+name(resource.GetResource().GetAttributes())] = true
			for _, scope := range resource.GetScopeMetrics() {
				for _, metric := range scope.GetMetrics() {
					c.metrics[metric.GetName()] = metric
				}
			}
		}
	case *logscollector.ExportLogsServiceRequest:
		for _, resource := range message.GetResourceLogs() {
			from := name(resource.GetResource().GetAttributes())
			for _, scope := range resource.GetScopeLogs() {
				c.lines[from] = append(c.lines[from], scope.GetLogRecords()...)
			}
		}
	}
	return nil
}

func name(attributes []*commonpb.KeyValue) string { return values(attributes)["service.name"] }

// values are attributes as texts.
func values(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, one := range attributes {
		all[one.GetKey()] = text(one.GetValue())
	}
	return all
}

// trace returns the spans of a trace whose identity is given in hexadecimal: the server span, then each before its
// children.
func (c *collector) trace(id string) []*tracepb.Span {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var found []*tracepb.Span
	for _, span := range c.spans {
		if hex.EncodeToString(span.GetTraceId()) == id {
			found = append(found, span)
		}
	}
	slices.SortStableFunc(found, func(a, b *tracepb.Span) int {
		return int(int64(a.GetStartTimeUnixNano()) - int64(b.GetStartTimeUnixNano()))
	})
	return found
}

// metric returns the latest data of a metric.
func (c *collector) metric(name string) *metricspb.Metric {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.metrics[name]
}

// logged returns the lines that came from a service.
func (c *collector) logged(from string) []*logspb.LogRecord {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.lines[from])
}

// named reports whether a signal came under a name.
func (c *collector) named(signal, name string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.names[signal+" "+name]
}

type traces struct {
	tracecollector.UnimplementedTraceServiceServer
	c *collector
}

// Export takes spans.
func (s traces) Export(ctx context.Context,
	r *tracecollector.ExportTraceServiceRequest,
) (*tracecollector.ExportTraceServiceResponse, error) {
	return &tracecollector.ExportTraceServiceResponse{}, s.c.take(ctx, r)
}

type metrics struct {
	metricscollector.UnimplementedMetricsServiceServer
	c *collector
}

// Export takes metrics.
func (s metrics) Export(ctx context.Context,
	r *metricscollector.ExportMetricsServiceRequest,
) (*metricscollector.ExportMetricsServiceResponse, error) {
	return &metricscollector.ExportMetricsServiceResponse{}, s.c.take(ctx, r)
}

type logs struct {
	logscollector.UnimplementedLogsServiceServer
	c *collector
}

// Export takes lines.
func (s logs) Export(ctx context.Context,
	r *logscollector.ExportLogsServiceRequest,
) (*logscollector.ExportLogsServiceResponse, error) {
	return &logscollector.ExportLogsServiceResponse{}, s.c.take(ctx, r)
}
