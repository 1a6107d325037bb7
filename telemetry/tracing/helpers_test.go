package tracing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// lines keeps what is logged.
type lines struct {
	mutex sync.Mutex
	all   []string
}

func (l *lines) Debug(string, ...any) {}
func (l *lines) Info(string, ...any)  {}
func (l *lines) Error(string, ...any) {}

func (l *lines) Warn(message string, pairs ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.all = append(l.all, fmt.Sprint(append([]any{message}, pairs...)...))
}

// keeper is an exporter that keeps spans, also after it has been closed.
type keeper struct {
	mutex sync.Mutex
	spans tracetest.SpanStubs
	// batches are the numbers of spans of each batch.
	batches []int
	// hold, where it is set, is waited for before a batch is taken.
	hold chan struct{}
	err  error
}

func (k *keeper) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	if k.hold != nil {
		select {
		case <-k.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if k.err != nil {
		return k.err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.spans = append(k.spans, tracetest.SpanStubsFromReadOnlySpans(batch)...)
	k.batches = append(k.batches, len(batch))
	return nil
}

func (k *keeper) Shutdown(context.Context) error { return nil }

var errRefused = errors.New("refused")

func defaults() static.Tracing {
	var out static.Tracing
	out.SetDefaults()
	return out
}

// traced runs what makes spans, and returns them in the order in which they ended.
func traced(t *testing.T, config static.Tracing, run func(*Tracer)) tracetest.SpanStubs {
	t.Helper()
	kept := &keeper{}
	tracer, err := New(config, kept, &lines{})
	if err != nil {
		t.Fatal(err)
	}
	run(tracer)
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return kept.spans
}

// begun returns the record of a request that has been routed, and the request.
func begun(header http.Header) (*telemetry.Record, *http.Request) {
	record := &telemetry.Record{
		Start: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC), Method: http.MethodGet, Host: "shop.example:8443",
		Path:  "/cart/caf%C3%A9",
		Query: "item=7&token=planted", Client: "192.0.2.7", ClientPort: "40123", Version: "HTTP/2.0", Entrypoint: "websecure",
		Observe: telemetry.ObserveTrace | telemetry.ObserveMetrics, Router: "shop@file", Generation: 3,
	}
	if header == nil {
		header = http.Header{}
	}
	return record, &http.Request{Method: record.Method, Header: header}
}

// attributes returns those of a span by their names.
func attributes(span tracetest.SpanStub) map[string]any {
	out := map[string]any{}
	for _, one := range span.Attributes {
		out[string(one.Key)] = one.Value.AsInterface()
	}
	return out
}

// share returns options that sample a share.
func share(of float64) static.Tracing {
	out := defaults()
	out.SampleRate = of
	return out
}
