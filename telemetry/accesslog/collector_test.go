package accesslog_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// exporter keeps what it is given, after what export does.
type exporter struct {
	export  func(ctx context.Context) error
	mu      sync.Mutex
	records []sdklog.Record
	batches []int
	ended   bool
}

// Export keeps the records, unless its function fails.
func (e *exporter) Export(ctx context.Context, records []sdklog.Record) error {
	if e.export != nil {
		if err := e.export(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batches = append(e.batches, len(records))
	for i := range records {
		e.records = append(e.records, records[i].Clone())
	}
	return nil
}

// Shutdown notes that it was called.
func (e *exporter) Shutdown(context.Context) error {
	e.ended = true
	return nil
}

// ForceFlush does nothing.
func (e *exporter) ForceFlush(context.Context) error { return nil }

// attributes returns those of the one record that was sent, with numbers as encoding/json has them.
func (e *exporter) attributes(t *testing.T) map[string]any {
	t.Helper()
	if len(e.records) != 1 {
		t.Fatalf("%d records are sent, want one", len(e.records))
	}
	found := map[string]any{}
	e.records[0].WalkAttributes(func(kv attribute.KeyValue) bool {
		found[string(kv.Key)] = kv.Value.AsInterface()
		if whole, ok := found[string(kv.Key)].(int64); ok {
			found[string(kv.Key)] = float64(whole)
		}
		return true
	})
	return found
}

func collected(change func(*static.AccessLog)) func(*static.AccessLog) {
	return func(c *static.AccessLog) {
		c.OTLP = &static.OTLP{}
		if change != nil {
			change(c)
		}
	}
}

func TestCollector(t *testing.T) {
	for _, format := range []string{"json", "common"} {
		var out sink
		e := &exporter{}
		from := resource.NewSchemaless(attribute.String("service.name", "edge"))
		c := config(format, collected(func(c *static.AccessLog) {
			c.DualOutput = true
			c.Fields.Headers.Names = map[string]string{"User-Agent": "keep"}
			c.Fields.Names = map[string]string{"ClientAddr": "drop"}
		}))
		record := answered()
		synctest.Test(t, func(t *testing.T) { // However long it takes, it is within the second that the end may take.
			log, stop := running(t, c, accesslog.Options{Stdout: &out, Exporter: e, Resource: from, Location: zone()})
			log.Began(record, request(http.Header{"User-Agent": {"curl\n"}}))
			log.Finished(record)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		})
		if len(e.records) != 1 || !e.ended {
			t.Fatalf("%d records are sent, and it has ended: %t", len(e.records), e.ended)
		}
		sent := e.records[0]
		if body := sent.Body().AsString() + "\n"; body != out.String() {
			t.Errorf("%s: the body is %q, the file has %q", format, body, out.String())
		}
		got := e.attributes(t)
		for key, want := range map[string]any{
			"RouterName": "shop@file", "Duration": 12345678.0, "GzipRatio": 4.0, "request_User-Agent": "curl\n",
			"DownstreamStatus": 200.0,
			"ClientAddr":       nil, "level": nil, "time": nil, "msg": nil,
		} {
			if diff := cmp.Diff(want, got[key]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", format, key, diff)
			}
		}
		if sent.TraceID() != record.Trace.TraceID || sent.SpanID() != record.Trace.SpanID || !sent.TraceFlags().IsSampled() {
			t.Errorf("%s: the trace is %s %s", format, sent.TraceID(), sent.SpanID())
		}
		if !sent.Timestamp().Equal(record.Start.Add(record.Duration)) || sent.SeverityText() != "info" {
			t.Errorf("%s: time %s, severity %s", format, sent.Timestamp(), sent.SeverityText())
		}
		if name, _ := sent.Resource().Set().Value("service.name"); name.AsString() != "edge" {
			t.Errorf("%s: the resource is %s", format, sent.Resource())
		}
	}
}

// TestCollectorAlone demands that standard output gets nothing that goes to a collector.
func TestCollectorAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // as above
		var out sink
		e := &exporter{}
		log, stop := running(t, config("json", collected(nil)), accesslog.Options{Stdout: &out, Exporter: e})
		leave(log, 1200)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(e.records) != 1200 || out.String() != "" {
			t.Errorf("%d records are sent, standard output has %q", len(e.records), out.String())
		}
		for _, batch := range e.batches {
			if batch > 512 {
				t.Errorf("%d records are sent at once", batch)
			}
		}
	})
}

func TestACollectorThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := recorder{lines: make(chan string, 10)}
		down := true
		e := &exporter{export: func(context.Context) error {
			if down {
				return errBroken
			}
			return nil
		}}
		log, stop := running(t, config("json", collected(nil)), accesslog.Options{Logger: logger, Exporter: e})
		leave(log, 3)
		clock(time.Minute)
		if log.Dropped() != 3 || len(logger.lines) != 1 {
			t.Errorf("%d lines are dropped, the log has %d lines", log.Dropped(), len(logger.lines))
		}
		down = false
		leave(log, 3)
		clock(time.Minute)
		if log.Dropped() != 3 || len(e.records) != 3 || len(logger.lines) != 2 {
			t.Errorf("%d lines are dropped, %d are sent, the log has %d lines", log.Dropped(), len(e.records),
				len(logger.lines))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestACollectorThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{export: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		var out sink
		c := config("json", collected(func(c *static.AccessLog) { c.DualOutput = true }))
		log, stop := running(t, c, accesslog.Options{Stdout: &out, Exporter: e})
		leave(log, 2)
		clock(time.Second)
		if strings.Count(out.String(), "\n") != 2 {
			t.Error("a collector that hangs keeps lines from standard output")
		}
		began := time.Now()
		if err := stop(); err == nil || time.Since(began) != time.Second {
			t.Errorf("the log ends after %s with %v", time.Since(began), err)
		}
		if log.Dropped() != 2 {
			t.Errorf("%d lines are dropped, want 2", log.Dropped())
		}
	})
}
