package main

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
	"github.com/sluiceproxy/sluice/telemetry/tracing"
)

// standstill is an exporter of spans that does not come to its end before it is let go.
type standstill struct{ letGo chan struct{} }

func (standstill) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }

func (s standstill) Shutdown(context.Context) error {
	<-s.letGo
	return nil
}

// sender notes how long it was given to send the last metrics.
type sender struct{ given time.Duration }

func (s *sender) Shutdown(ctx context.Context) error {
	end, _ := ctx.Deadline()
	s.given = time.Until(end)
	return ctx.Err()
}

// A collector of traces that stands still must not cost the last metrics, nor the end of Sluice more than its time.
func TestCollectorsEndBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exporter, metrics := standstill{make(chan struct{})}, &sender{}
		tracer, err := tracing.New(static.Tracing{}, exporter, telemetry.Discard{})
		if err != nil {
			t.Fatal(err)
		}
		o := &observability{logs: silent{}, tracer: tracer, pusher: metrics}
		began := time.Now()
		o.close()
		if took := time.Since(began); took != lastSend {
			t.Errorf("the end took %v, want %v", took, lastSend)
		}
		if metrics.given != lastSend {
			t.Errorf("the metrics were given %v, want %v", metrics.given, lastSend)
		}
		close(exporter.letGo)
	})
}

// recorder keeps what is logged.
type recorder struct {
	telemetry.Discard
	lines []string
}

func (h *recorder) Debug(message string, _ ...any) { h.lines = append(h.lines, message) }

// An unsolicited response may hold a cookie, and net/http logs how it begins.
func TestStraysHoldNoAnswers(t *testing.T) {
	logger := &recorder{}
	line := "Unsolicited response received on idle HTTP channel starting with \"HTTP/1.1 200\\r\\nSet-Cookie: " +
		"s3cr3t\"; err=<nil>\n"
	if n, err := (libraryLog{logger}).Write([]byte(line)); n != len(line) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if len(logger.lines) != 1 || logger.lines[0] != "Unsolicited response received on idle HTTP channel" {
		t.Errorf("it logs %q", logger.lines)
	}
}

func TestWhatIsObserved(t *testing.T) {
	const metrics, access, traces, detail = telemetry.ObserveMetrics, telemetry.ObserveAccess, telemetry.ObserveTrace,
		telemetry.ObserveDetail
	for title, test := range map[string]struct {
		config             static.Configuration
		watched, internals telemetry.Observe
	}{
		"nothing":   {},
		"metrics":   {config: static.Configuration{Metrics: &static.Metrics{}}, watched: metrics},
		"dashboard": {config: static.Configuration{API: &static.API{}}, watched: metrics},
		"live":      {config: static.Configuration{API: &static.API{LiveRequests: true}}, watched: metrics | access},
		"access":    {config: static.Configuration{AccessLog: &static.AccessLog{}}, watched: access},
		"traces":    {config: static.Configuration{Tracing: &static.Tracing{}}, watched: traces | detail},
		"metrics of our own": {
			config: static.Configuration{Metrics: &static.Metrics{AddInternals: true}}, watched: metrics, internals: metrics,
		},
		"access to our own": {
			config: static.Configuration{AccessLog: &static.AccessLog{AddInternals: true}}, watched: access, internals: access,
		},
		"traces of our own": {
			config: static.Configuration{Tracing: &static.Tracing{AddInternals: true}}, watched: traces | detail,
			internals: traces | detail,
		},
	} {
		if got := watched(&test.config); got != test.watched {
			t.Errorf("%s: %b is observed, want %b", title, got, test.watched)
		}
		if got := internals(&test.config); got != test.internals {
			t.Errorf("%s: %b is observed of our own services, want %b", title, got, test.internals)
		}
	}
	for config, want := range map[static.EntryPointTelemetry]telemetry.Observe{
		{}: 0, {Metrics: true}: metrics, {AccessLogs: true}: access, {Tracing: true, TraceVerbosity: "minimal"}: traces,
		{Tracing: true, TraceVerbosity: "detailed"}: traces | detail,
	} {
		if got := observed(&config); got != want {
			t.Errorf("%+v: %b is observed, want %b", config, got, want)
		}
	}
}

// The access log reads the trace, which the tracer of a request that no router answered makes at its end; and a
// router may switch the access log on, so that it gets all requests and their headers.
func TestReportsOfAnEntrypoint(t *testing.T) {
	access, err := accesslog.New(static.AccessLog{
		FilePath: filepath.Join(t.TempDir(), "access.log"), Format: static.FormatJSON,
		Fields: &static.AccessLogFields{DefaultMode: "keep", Headers: &static.FieldHeaders{DefaultMode: "keep"}},
	}, accesslog.Options{Logger: telemetry.Discard{}})
	if err != nil {
		t.Fatal(err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	defer access.Run(over) //nolint:errcheck // It has nothing to write.
	tracer, err := tracing.New(static.Tracing{}, noSpans{}, telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Shutdown(t.Context()) //nolint:errcheck // It has nothing to send.
	config := &static.Configuration{AccessLog: &static.AccessLog{}, Tracing: &static.Tracing{}}
	o, err := newObservability(config, silent{})
	if err != nil {
		t.Fatal(err)
	}
	o.access, o.tracer = access, tracer
	deps := o.dependencies("web", &static.EntryPoint{Observability: static.EntryPointTelemetry{
		Tracing: true,
		Metrics: true,
	}})
	if want := telemetry.ObserveTrace | telemetry.ObserveHeaders; deps.Observe != want {
		t.Errorf("records begin with %b, want %b", deps.Observe, want)
	}
	if want := telemetry.ObserveTrace | telemetry.ObserveDetail | telemetry.ObserveAccess; deps.Watched != want {
		t.Errorf("routers may choose from %b, want %b", deps.Watched, want)
	}
	if deps.Starter != entrypoint.Starter(access) {
		t.Errorf("%T gets requests that begin", deps.Starter)
	}
	order := []entrypoint.Sink{tracer, telemetry.Requests{Entrypoint: o.metrics.Entrypoint("web")}, o.failures, access}
	if !slices.Equal(deps.Sinks, order) {
		t.Errorf("sinks %T, want %T", deps.Sinks, order)
	}
	o.access, o.tracer = nil, nil
	if bare := o.dependencies("web", &static.EntryPoint{}); len(bare.Sinks) != 2 || bare.Starter != nil {
		t.Errorf("without access log and traces there are %d sinks, and %T gets requests that begin", len(bare.Sinks),
			bare.Starter)
	}
}

// noSpans is an exporter that gets none.
type noSpans struct{}

func (noSpans) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (noSpans) Shutdown(context.Context) error                             { return nil }
