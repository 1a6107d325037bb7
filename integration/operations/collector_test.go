package operations

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// logCollector is a collector that keeps lines of the log, by service and subsystem.
type logCollector struct {
	collector.UnimplementedLogsServiceServer

	mu    sync.Mutex
	lines map[string]string
}

// Export takes lines by gRPC.
func (c *logCollector) Export(_ context.Context,
	request *collector.ExportLogsServiceRequest,
) (*collector.ExportLogsServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceLogs() {
		of := map[string]string{}
		for _, attribute := range resource.GetResource().GetAttributes() {
			of[attribute.GetKey()] = attribute.GetValue().GetStringValue()
		}
		for _, scope := range resource.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				for _, attribute := range record.GetAttributes() {
					if attribute.GetKey() == "subsystem" {
						c.lines[record.GetBody().GetStringValue()] = of["service.name"] + " " + attribute.GetValue().GetStringValue() +
							" " + record.GetSeverityText()
					}
				}
			}
		}
	}
	return &collector.ExportLogsServiceResponse{}, nil
}

// ServeHTTP takes lines by HTTP.
func (c *logCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportLogsServiceRequest
	if err != nil || r.URL.Path != "/v1/logs" || proto.Unmarshal(body, &request) != nil {
		http.Error(w, "not lines of a log", http.StatusBadRequest)
		return
	}
	_, _ = c.Export(r.Context(), &request)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// line returns the fields of a line.
func (c *logCollector) line(message string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[message]
}

// TestTheLogReachesACollector sends the log by gRPC and by HTTP, until the last line.
func TestTheLogReachesACollector(t *testing.T) {
	to := &logCollector{lines: map[string]string{}}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	byGRPC := grpc.NewServer()
	collector.RegisterLogsServiceServer(byGRPC, to)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := byGRPC.Serve(listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { byGRPC.Stop(); serving.Wait() })
	byHTTP := httptest.NewServer(to)
	t.Cleanup(byHTTP.Close)
	for name, options := range map[string]string{
		"grpc": `otlp: {serviceName: edge-grpc, grpc: {insecure: true, endpoint: "` + listener.Addr().String() + `"}}`,
		"http": `otlp: {serviceName: edge-http, http: {endpoint: "` + byHTTP.URL + `"}}`,
	} {
		s := harness.Start(t, harness.Setup{Static: `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
log: {` + options + `}
`})
		s.Addr("web")
		s.Stop()
		for _, message := range []string{"listening", "stopped"} {
			if got := to.line(message); got != "edge-"+name+" main info" {
				t.Errorf("by %s the line %q comes as %q", name, message, got)
			}
		}
	}
}
