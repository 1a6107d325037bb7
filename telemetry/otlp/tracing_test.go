package otlp_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
	"github.com/sluiceproxy/sluice/telemetry/tracing"
)

// closing is an exporter that reports when it is closed.
type closing struct {
	sdktrace.SpanExporter

	closed chan struct{}
}

func (c closing) Shutdown(ctx context.Context) error {
	defer close(c.closed)
	return c.SpanExporter.Shutdown(ctx)
}

// tracer returns one that sends to the collector of the options. Before the test ends its exporter is waited
// for, which may be longer than the tracer's own end.
func tracer(t *testing.T, grpc *static.OTLPGRPC, http *static.OTLPHTTP, logged telemetry.Logger) *tracing.Tracer {
	t.Helper()
	exporter, err := otlp.Spans(t.Context(), grpc, http)
	if err != nil {
		t.Fatal(err)
	}
	var config static.Tracing
	config.SetDefaults()
	config.ServiceName = "edge"
	closed := make(chan struct{})
	out, err := tracing.New(config, closing{exporter, closed}, logged)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { <-closed })
	return out
}

// request is one sampled request with a part for its endpoint.
func request(tracer *tracing.Tracer, agent string) {
	r := &http.Request{Header: http.Header{
		"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, "User-Agent": {agent},
	}}
	record := &telemetry.Record{
		Start: time.Now(), Method: http.MethodGet, Host: "shop.example", Path: "/cart", Version: "HTTP/1.1",
		Entrypoint: "web",
		Observe:    telemetry.ObserveTrace, Status: http.StatusOK, Duration: time.Millisecond,
	}
	tracer.Begin(record, r)
	try := record.Span.Child(http.MethodGet, true)
	try.Set("server.address", "192.0.2.1")
	try.End("")
	tracer.Finished(record)
}

func text(of []*commonpb.KeyValue, key string) string {
	for _, one := range of {
		if one.GetKey() == key {
			return one.GetValue().GetStringValue()
		}
	}
	return ""
}

func TestSpansArriveAsTheyWereMade(t *testing.T) {
	ways := map[string]func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP){
		"grpc": func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP) {
			return grpcOptions(c.byGRPC(t), true, nil), nil
		},
		"http": func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP) {
			return nil, httpOptions(c.byHTTP(t, false).URL, nil)
		},
	}
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			c := newCollector()
			grpc, http := options(c)
			made := tracer(t, grpc, http, &lines{})
			request(made, "bad \xff agent")
			if err := made.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if made.Dropped() != 0 || len(c.arrivals) != 1 {
				t.Fatalf("%d spans are dropped, %d batches arrived", made.Dropped(), len(c.arrivals))
			}
			message := (<-c.arrivals).message.(*coltracepb.ExportTraceServiceRequest)
			resource := message.GetResourceSpans()[0]
			if got := text(resource.GetResource().GetAttributes(), "service.name"); got != "edge" {
				t.Errorf("the service is %q", got)
			}
			spans := resource.GetScopeSpans()[0].GetSpans()
			if len(spans) != 2 {
				t.Fatalf("%d spans", len(spans))
			}
			try, root := spans[0], spans[1]
			if root.GetKind() != tracepb.Span_SPAN_KIND_SERVER || try.GetKind() != tracepb.Span_SPAN_KIND_CLIENT ||
				string(try.GetParentSpanId()) != string(root.GetSpanId()) || root.GetParentSpanId()[7] != 0xb7 {
				t.Errorf("received %v", spans)
			}
			if got := text(root.GetAttributes(), "user_agent.original"); got != "bad \uFFFD agent" {
				t.Errorf("the user agent is %q", got)
			}
			if got := text(root.GetAttributes(), "url.path"); got != "/cart" {
				t.Errorf("the path is %q", got)
			}
		})
	}
}

// A collector that takes a batch and never answers must not hold up requests, and not the end either.
func TestACollectorThatHangsBlocksNoRequest(t *testing.T) {
	ways := map[string]func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP){
		"grpc": func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP) {
			return grpcOptions(c.byGRPC(t), true, nil), nil
		},
		"http": func(c *collector) (*static.OTLPGRPC, *static.OTLPHTTP) {
			return nil, httpOptions(c.byHTTP(t, false).URL, nil)
		},
	}
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			c := newCollector()
			asked, done := make(chan struct{}, 64), make(chan struct{})
			t.Cleanup(func() { close(done) })
			c.answer = func(arrival) (int, string) {
				asked <- struct{}{}
				<-done
				return http.StatusOK, ""
			}
			grpc, http := options(c)
			logged := &lines{}
			made := tracer(t, grpc, http, logged)
			for range 300 {
				request(made, "agent")
			}
			<-asked // The first batch is on its way, and stays there.
			for range 1000 {
				request(made, "agent")
			}
			if made.Dropped() == 0 {
				t.Error("nothing is dropped")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := made.Shutdown(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestACollectorThatIsDownBlocksNoRequest(t *testing.T) {
	address := http1test.Reserve(t)
	for way, made := range map[string]*tracing.Tracer{
		"grpc": tracer(t, grpcOptions(address, true, nil), nil, &lines{}),
		"http": tracer(t, nil, httpOptions("http://"+address, nil), &lines{}),
	} {
		for range 1200 {
			request(made, "agent")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := made.Shutdown(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", way, err)
		}
		if made.Dropped() == 0 {
			t.Errorf("%s: nothing is dropped", way)
		}
	}
}
