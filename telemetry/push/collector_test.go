package push

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// received takes what a collector gets.
type received struct {
	collector.UnimplementedMetricsServiceServer
	requests chan *collector.ExportMetricsServiceRequest
}

func (r *received) Export(_ context.Context,
	request *collector.ExportMetricsServiceRequest,
) (*collector.ExportMetricsServiceResponse, error) {
	r.requests <- request
	return &collector.ExportMetricsServiceResponse{}, nil
}

func (r *received) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var body io.Reader = request.Body
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	content, err := io.ReadAll(body)
	message := &collector.ExportMetricsServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(content, message)
	}
	if err != nil || request.URL.Path != "/v1/metrics" {
		http.Error(w, request.URL.Path, http.StatusBadRequest)
		return
	}
	r.requests <- message
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// TestCollectorsReceiveMetrics pushes to a server of each protocol.
func TestCollectorsReceiveMetrics(t *testing.T) {
	for protocol, start := range map[string]func(*testing.T, *received, *static.MetricOTLP){
		"http": func(t *testing.T, r *received, c *static.MetricOTLP) {
			t.Helper()
			server := httptest.NewServer(r)
			t.Cleanup(server.Close)
			c.HTTP = &static.OTLPHTTP{Endpoint: server.URL}
		},
		"grpc": func(t *testing.T, r *received, c *static.MetricOTLP) {
			t.Helper()
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			collector.RegisterMetricsServiceServer(server, r)
			done := make(chan struct{})
			go func() {
				defer close(done)
				if err := server.Serve(listener); err != nil {
					t.Error(err)
				}
			}()
			t.Cleanup(func() { server.Stop(); <-done })
			c.GRPC = &static.OTLPGRPC{Endpoint: listener.Addr().String(), Insecure: true}
		},
	} {
		t.Run(protocol, func(t *testing.T) {
			r := &received{requests: make(chan *collector.ExportMetricsServiceRequest, 4)}
			c := config()
			c.ServiceName = "edge"
			start(t, r, &c)
			exporter, err := otlp.Metrics(t.Context(), c.GRPC, c.HTTP)
			if err != nil {
				t.Fatal(err)
			}
			flush(t, c, exporter)
			inspect(t, <-r.requests)
		})
	}
}

func flush(t *testing.T, c static.MetricOTLP, exporter sdkmetric.Exporter) {
	t.Helper()
	push, err := New(c, counted(c).Pushed(), exporter)
	if err != nil {
		t.Fatal(err)
	}
	if err := push.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if err := push.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// inspect demands Sluice's name, and the counts of requests under Traefik's name and that of the semantic conventions.
func inspect(t *testing.T, request *collector.ExportMetricsServiceRequest) {
	t.Helper()
	name := ""
	for _, attribute := range request.GetResourceMetrics()[0].GetResource().GetAttributes() {
		if attribute.GetKey() == "service.name" {
			name = attribute.GetValue().GetStringValue()
		}
	}
	if name != "edge" {
		t.Errorf("the service is named %q", name)
	}
	counts := map[string]uint64{"traefik_entrypoint_request_duration_seconds": 0, "http.server.request.duration": 0}
	for _, metric := range request.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		if _, wanted := counts[metric.GetName()]; wanted {
			counts[metric.GetName()] += metric.GetHistogram().GetDataPoints()[0].GetCount()
		}
	}
	for name, got := range counts {
		if got != 3 {
			t.Errorf("%s has %d requests, want 3", name, got)
		}
	}
}
