package otlp

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sluiceproxy/sluice/static"
)

// Spans returns an exporter of spans. The gRPC options take precedence over those of HTTP; without either it is
// the local collector by HTTP, the options' default. An error names the option, such as grpc.tls.ca. Nothing is
// sent and no connection is made yet, so that a collector which is down is no error; failed batches are errors
// of the type *Failure. Shutdown closes the connections.
func Spans(ctx context.Context, grpc *static.OTLPGRPC, http *static.OTLPHTTP) (sdktrace.SpanExporter, error) {
	target, err := resolve("traces", grpc, http)
	if err != nil {
		return nil, err
	}
	var inner sdktrace.SpanExporter
	if target.grpc {
		inner, err = otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(target.endpoint),
			otlptracegrpc.WithHeaders(target.headers),
			otlptracegrpc.WithTimeout(patience), otlptracegrpc.WithDialOption(target.dial()...))
	} else {
		// The encoding is set, since the exporter takes it from its environment otherwise.
		inner, err = otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(target.endpoint),
			otlptracehttp.WithHeaders(target.headers),
			otlptracehttp.WithTimeout(patience), otlptracehttp.WithHTTPClient(target.client),
			otlptracehttp.WithCompression(compression(target, otlptracehttp.NoCompression, otlptracehttp.GzipCompression)),
			otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf))
	}
	if err != nil {
		return nil, target.failure(err)
	}
	return &spans{SpanExporter: inner, target: target}, nil
}

type spans struct {
	sdktrace.SpanExporter

	target *target
}

func (s *spans) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	return s.target.failure(s.SpanExporter.ExportSpans(ctx, batch))
}

func (s *spans) Shutdown(ctx context.Context) error {
	defer s.target.close()
	return s.target.failure(s.SpanExporter.Shutdown(ctx))
}

// Metrics returns an exporter of metrics, in every other way as Spans.
func Metrics(ctx context.Context, grpc *static.OTLPGRPC, http *static.OTLPHTTP) (sdkmetric.Exporter, error) {
	target, err := resolve("metrics", grpc, http)
	if err != nil {
		return nil, err
	}
	var inner sdkmetric.Exporter
	if target.grpc {
		inner, err = otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(target.endpoint),
			otlpmetricgrpc.WithHeaders(target.headers),
			otlpmetricgrpc.WithTimeout(patience), otlpmetricgrpc.WithDialOption(target.dial()...))
	} else {
		inner, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(target.endpoint),
			otlpmetrichttp.WithHeaders(target.headers),
			otlpmetrichttp.WithTimeout(patience), otlpmetrichttp.WithHTTPClient(target.client),
			otlpmetrichttp.WithCompression(compression(target, otlpmetrichttp.NoCompression, otlpmetrichttp.GzipCompression)))
	}
	if err != nil {
		return nil, target.failure(err)
	}
	return &metrics{Exporter: inner, target: target}, nil
}

type metrics struct {
	sdkmetric.Exporter

	target *target
}

func (m *metrics) Export(ctx context.Context, batch *metricdata.ResourceMetrics) error {
	return m.target.failure(m.Exporter.Export(ctx, batch))
}

func (m *metrics) Shutdown(ctx context.Context) error {
	defer m.target.close()
	return m.target.failure(m.Exporter.Shutdown(ctx))
}

// Logs returns an exporter of log lines, in every other way as Spans.
func Logs(ctx context.Context, grpc *static.OTLPGRPC, http *static.OTLPHTTP) (sdklog.Exporter, error) {
	target, err := resolve("logs", grpc, http)
	if err != nil {
		return nil, err
	}
	var inner sdklog.Exporter
	if target.grpc {
		inner, err = otlploggrpc.New(ctx, otlploggrpc.WithEndpoint(target.endpoint), otlploggrpc.WithHeaders(target.headers),
			otlploggrpc.WithTimeout(patience), otlploggrpc.WithDialOption(target.dial()...))
	} else {
		inner, err = otlploghttp.New(ctx, otlploghttp.WithEndpointURL(target.endpoint),
			otlploghttp.WithHeaders(target.headers),
			otlploghttp.WithTimeout(patience), otlploghttp.WithHTTPClient(target.client),
			otlploghttp.WithCompression(compression(target, otlploghttp.NoCompression, otlploghttp.GzipCompression)))
	}
	if err != nil {
		return nil, target.failure(err)
	}
	return &logs{Exporter: inner, target: target}, nil
}

type logs struct {
	sdklog.Exporter

	target *target
}

func (l *logs) Export(ctx context.Context, batch []sdklog.Record) error {
	return l.target.failure(l.Exporter.Export(ctx, batch))
}

func (l *logs) Shutdown(ctx context.Context) error {
	defer l.target.close()
	return l.target.failure(l.Exporter.Shutdown(ctx))
}
