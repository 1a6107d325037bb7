package tracing

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sluiceproxy/sluice/static"
)

func TestOptionsThatMakeNoSense(t *testing.T) {
	tests := map[string]struct {
		config   static.Tracing
		exporter sdktrace.SpanExporter
		want     string
	}{
		"share":     {share(1.5), &keeper{}, "tracing.sampleRate: "},
		"no number": {share(math.NaN()), &keeper{}, "tracing.sampleRate: "},
		"request header": {
			static.Tracing{CapturedRequestHeaders: []string{"a b"}},
			&keeper{},
			`tracing.capturedRequestHeaders: "a b" is not`,
		},
		"response header": {
			static.Tracing{CapturedResponseHeaders: []string{""}},
			&keeper{},
			`tracing.capturedResponseHeaders: "" is not`,
		},
		"no exporter": {defaults(), nil, "tracing: there is no exporter"},
	}
	for title, test := range tests {
		if _, err := New(test.config, test.exporter, &lines{}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", title, err, test.want)
		}
	}
}

func TestTheResourceNamesTheProcess(t *testing.T) {
	named := func(name string, resource, global map[string]string) static.Tracing {
		out := defaults()
		out.ServiceName, out.ResourceAttributes, out.GlobalAttributes = name, resource, global
		return out
	}
	for config, want := range map[*static.Tracing]string{
		ptr(named("edge", nil, map[string]string{"zone": "old"})):                              "edge old",
		ptr(named("edge", map[string]string{"zone": "new"}, map[string]string{"zone": "old"})): "edge new",
	} {
		spans := traced(t, *config, func(tracer *Tracer) {
			record, r := begun(nil)
			tracer.Begin(record, r)
			tracer.Finished(record)
		})
		set := spans[0].Resource.Set()
		name, _ := set.Value("service.name")
		zone, _ := set.Value("zone")
		if got := name.AsString() + " " + zone.AsString(); got != want {
			t.Errorf("resource %q, want %q", got, want)
		}
	}
}

func ptr(of static.Tracing) *static.Tracing { return &of }

func finish(tracer *Tracer, requests int) {
	for range requests {
		record, r := begun(nil)
		tracer.Begin(record, r)
		tracer.Finished(record)
	}
}

// An exporter that stands still must not hold up a request, nor may the queue grow.
func TestWhatCanNotBeSentIsDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &keeper{hold: make(chan struct{})}
		tracer, err := New(defaults(), kept, &lines{})
		if err != nil {
			t.Fatal(err)
		}
		finish(tracer, maxQueue+952)
		if got := tracer.Dropped(); got != 952 {
			t.Errorf("%d spans are dropped while nothing is sent", got)
		}
		close(kept.hold)
		synctest.Wait()
		finish(tracer, 10)
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := tracer.Dropped(); got != 952 || len(kept.spans) != maxQueue+10 {
			t.Errorf("%d spans are sent and %d dropped", len(kept.spans), got)
		}
		record, r := begun(nil)
		tracer.Begin(record, r)
		if told, ok := parseParent(r.Header.Get("Traceparent")); !ok || told != record.Trace {
			t.Errorf("after the end endpoints see %q", r.Header.Get("Traceparent"))
		}
		tracer.Finished(record)
	})
}

func TestFailuresAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := &lines{}
		tracer, err := New(defaults(), &keeper{err: errRefused}, logged)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			finish(tracer, 3)
			<-time.NewTimer(6 * time.Second).C // Longer than a batch is waited for.
		}
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := tracer.Dropped(); got != 12 {
			t.Errorf("%d spans are dropped", got)
		}
		if len(logged.all) != 1 || !strings.Contains(logged.all[0], "refused") {
			t.Errorf("logged: %q", logged.all)
		}
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer, err := New(defaults(), &keeper{hold: make(chan struct{})}, &lines{})
		if err != nil {
			t.Fatal(err)
		}
		finish(tracer, 2*maxBatch)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := tracer.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		if got := tracer.Dropped(); got != 2*maxBatch {
			t.Errorf("%d spans are dropped", got)
		}
	})
}
