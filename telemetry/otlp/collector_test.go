package otlp_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/static"
)

// arrival is one batch as a collector receives it.
type arrival struct {
	message proto.Message
	path    string
	header  func(name string) string
	// client says that a certificate was presented.
	client bool
}

// collector takes what is sent, by gRPC and by HTTP.
type collector struct {
	arrivals chan arrival
	// closed gets a message for each connection of HTTP that ends.
	closed chan struct{}
	// answer decides the response to the sender; nil is success. It may block.
	answer func(arrival) (status int, body string)
	// partly is what the collector says of batches that it takes; nil says nothing.
	partly *partly
}

// partly is a success in part.
type partly struct {
	refused int64
	why     string
}

func (p *partly) traces() *coltracepb.ExportTraceServiceResponse {
	if p == nil {
		return new(coltracepb.ExportTraceServiceResponse)
	}
	return &coltracepb.ExportTraceServiceResponse{PartialSuccess: &coltracepb.ExportTracePartialSuccess{
		RejectedSpans: p.refused, ErrorMessage: p.why,
	}}
}

func (p *partly) metrics() *colmetricspb.ExportMetricsServiceResponse {
	if p == nil {
		return new(colmetricspb.ExportMetricsServiceResponse)
	}
	return &colmetricspb.ExportMetricsServiceResponse{
		PartialSuccess: &colmetricspb.ExportMetricsPartialSuccess{RejectedDataPoints: p.refused, ErrorMessage: p.why},
	}
}

func (p *partly) logs() *collogspb.ExportLogsServiceResponse {
	if p == nil {
		return new(collogspb.ExportLogsServiceResponse)
	}
	return &collogspb.ExportLogsServiceResponse{PartialSuccess: &collogspb.ExportLogsPartialSuccess{
		RejectedLogRecords: p.refused, ErrorMessage: p.why,
	}}
}

// bytes returns the answer to a message by HTTP.
func (p *partly) bytes(to proto.Message) []byte {
	var out proto.Message = p.logs()
	switch to.(type) {
	case *coltracepb.ExportTraceServiceRequest:
		out = p.traces()
	case *colmetricspb.ExportMetricsServiceRequest:
		out = p.metrics()
	}
	text, _ := proto.Marshal(out) // It is a message of two fields.
	return text
}

func newCollector() *collector {
	return &collector{arrivals: make(chan arrival, 16), closed: make(chan struct{}, 64)}
}

func (c *collector) take(a arrival) (int, string) {
	if c.answer != nil {
		return c.answer(a)
	}
	c.arrivals <- a
	return http.StatusOK, ""
}

// byHTTP serves on a path prefix; with a certificate where secure is set.
func (c *collector) byHTTP(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message := map[string]proto.Message{
			"/v1/traces": new(coltracepb.ExportTraceServiceRequest), "/own/traces": new(coltracepb.ExportTraceServiceRequest),
			"/v1/metrics":  new(colmetricspb.ExportMetricsServiceRequest),
			"/own/metrics": new(colmetricspb.ExportMetricsServiceRequest),
			"/v1/logs":     new(collogspb.ExportLogsServiceRequest), "/own/logs": new(collogspb.ExportLogsServiceRequest),
		}[r.URL.Path]
		var unzipped io.Reader = r.Body
		var err error
		if r.Header.Get("Content-Encoding") == "gzip" {
			unzipped, err = gzip.NewReader(r.Body)
		}
		if err != nil || message == nil {
			http.Error(w, "badly compressed, or for an unknown path", http.StatusNotFound)
			return
		}
		body, err := io.ReadAll(unzipped)
		if err == nil {
			err = proto.Unmarshal(body, message)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status, text := c.take(arrival{message, r.URL.Path, r.Header.Get, r.TLS != nil && len(r.TLS.PeerCertificates) > 0})
		if status == http.StatusTemporaryRedirect {
			w.Header().Set("Location", text)
		}
		if status == http.StatusOK && text == "" {
			w.Header().Set("Content-Type", "application/x-protobuf")
			text = string(c.partly.bytes(message))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // Some tests refuse its certificate.
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			c.closed <- struct{}{}
		}
	}
	if secure {
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// byGRPC serves on a port of its own and returns its address.
func (c *collector) byGRPC(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	coltracepb.RegisterTraceServiceServer(server, traceService{c: c})
	colmetricspb.RegisterMetricsServiceServer(server, metricsService{c: c})
	collogspb.RegisterLogsServiceServer(server, logsService{c: c})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return listener.Addr().String()
}

// certificate returns one for 127.0.0.1, and the PEM of what to trust.
func certificate(t *testing.T) (pair tls.Certificate, certPEM, keyPEM string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	server.Close()
	pair = server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pair, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
}

func secured(pair tls.Certificate) grpc.ServerOption {
	return grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert,
	}))
}

func (c *collector) called(ctx context.Context, message proto.Message) error {
	incoming, _ := metadata.FromIncomingContext(ctx)
	status, text := c.take(arrival{message, "", func(name string) string {
		if values := incoming.Get(name); len(values) > 0 {
			return values[0]
		}
		return ""
	}, presented(ctx)})
	if status != http.StatusOK {
		return refusal(status, text)
	}
	return nil
}

type traceService struct {
	coltracepb.UnimplementedTraceServiceServer

	c *collector
}

func (s traceService) Export(ctx context.Context,
	r *coltracepb.ExportTraceServiceRequest,
) (*coltracepb.ExportTraceServiceResponse, error) {
	return s.c.partly.traces(), s.c.called(ctx, r)
}

type metricsService struct {
	colmetricspb.UnimplementedMetricsServiceServer

	c *collector
}

func (s metricsService) Export(ctx context.Context,
	r *colmetricspb.ExportMetricsServiceRequest,
) (*colmetricspb.ExportMetricsServiceResponse, error) {
	return s.c.partly.metrics(), s.c.called(ctx, r)
}

type logsService struct {
	collogspb.UnimplementedLogsServiceServer

	c *collector
}

func (s logsService) Export(ctx context.Context,
	r *collogspb.ExportLogsServiceRequest,
) (*collogspb.ExportLogsServiceResponse, error) {
	return s.c.partly.logs(), s.c.called(ctx, r)
}

func grpcOptions(endpoint string, insecure bool, tls *static.ClientTLS) *static.OTLPGRPC {
	return &static.OTLPGRPC{
		Endpoint: endpoint, Insecure: insecure, TLS: tls,
		Headers: map[string]string{"X-Api-Key": secret},
	}
}

func httpOptions(endpoint string, tls *static.ClientTLS) *static.OTLPHTTP {
	return &static.OTLPHTTP{Endpoint: endpoint, TLS: tls, Headers: map[string]string{"X-Api-Key": secret}}
}

// secret is the value of a header that only the collector may see.
const secret = "planted-9f3a"
