package log

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/sluiceproxy/sluice/static"
)

// collector is an exporter that keeps what it gets. With an error it takes nothing; while it hangs, it answers
// to ctx alone. Its end waits for what it sends, as that of OpenTelemetry's exporters does.
type collector struct {
	failure error
	hangs   bool

	mu      sync.Mutex
	records []sdklog.Record
	calls   int
	over    bool
}

func (c *collector) Export(ctx context.Context, records []sdklog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	c.calls++
	if c.failure != nil {
		return c.failure
	}
	for _, record := range records {
		c.records = append(c.records, record.Clone())
	}
	return nil
}

func (c *collector) Shutdown(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return nil
}

func (c *collector) ForceFlush(context.Context) error { return nil }

// exporting returns a log at level DEBUG that is sent to the collector.
func exporting(t *testing.T, to *collector) *Log {
	t.Helper()
	logs, err := New(static.Log{Level: "debug"}, Options{Output: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	logs.Export(to, resource.NewSchemaless(attribute.String("service.name", "edge")))
	return logs
}

// pass lets the time of the bubble pass, and all do what was due.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func TestLinesAreSentToACollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &collector{}
		logs := exporting(t, to)
		main := logs.For(SubsystemMain)
		main.Debug("one", "text", "a", "count", 3, "share", 0.5, "yes", true, "big", int64(1)<<40, "generation", uint64(9),
			"huge", uint64(1)<<63,
			"wrong", errors.New("no"))
		main.Info("two")
		main.Warn("three")
		main.Error("four")
		pass(2 * batchWait)
		if len(to.records) != 4 {
			t.Fatalf("%d lines after two seconds", len(to.records))
		}
		want := map[string]any{
			"subsystem": "main", "text": "a", "count": int64(3), "share": 0.5, "yes": true, "big": int64(1) << 40,
			"generation": int64(9),
			"huge":       "9223372036854775808", "wrong": "no",
		}
		got := map[string]any{}
		to.records[0].WalkAttributes(func(pair attribute.KeyValue) bool {
			got[string(pair.Key)] = pair.Value.AsInterface()
			return true
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		for i, severity := range []log.Severity{log.SeverityDebug, log.SeverityInfo, log.SeverityWarn, log.SeverityError} {
			record := to.records[i]
			if record.Severity() != severity || record.Body().AsString() != []string{"one", "two", "three", "four"}[i] ||
				record.Timestamp().IsZero() {
				t.Errorf("line %d: %v %v", i, record.Severity(), record.Body())
			}
			if name, _ := record.Resource().Set().Value("service.name"); name.AsString() != "edge" {
				t.Errorf("line %d is of service %q", i, name.AsString())
			}
		}
		main.Info("last")
		if err := logs.Close(); err != nil {
			t.Fatal(err)
		}
		if len(to.records) != 5 || !to.over || logs.Unsent() != 0 {
			t.Errorf("at the end: %d lines, shut down: %v, %d unsent", len(to.records), to.over, logs.Unsent())
		}
	})
}

func TestManyLinesAreSentTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &collector{}
		logs := exporting(t, to)
		for range batchLines + 1 {
			logs.For(SubsystemMain).Info("line")
		}
		if err := logs.Close(); err != nil {
			t.Fatal(err)
		}
		if len(to.records) != batchLines+1 || to.calls > 2 {
			t.Errorf("%d lines in %d calls", len(to.records), to.calls)
		}
	})
}

func TestAStuckCollectorDoesNotBlockLogging(t *testing.T) {
	for name, to := range map[string]*collector{"refuses": {failure: errors.New("unavailable")}, "hangs": {hangs: true}} {
		synctest.Test(t, func(t *testing.T) {
			logs := exporting(t, to)
			const lines = 3 * batchBacklog
			for range lines {
				logs.For(SubsystemMain).Info("line")
			}
			pass(2 * batchWait)
			_ = logs.Close() // It may say that time was over.
			synctest.Wait()
			if unsent := logs.Unsent(); unsent < lines || unsent > lines+1 || !to.over { // One more line may report it.
				t.Errorf("%s: %d of %d lines are counted as unsent; shut down: %v", name, unsent, lines, to.over)
			}
		})
	}
}

// The line that reports a collector which accepts nothing is sent to it too, and must not be a reason for the next.
func TestALogThatCanNotBeSentSaysSoOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logs, err := New(static.Log{Format: static.FormatJSON}, Options{Output: &out})
		if err != nil {
			t.Fatal(err)
		}
		logs.Export(&collector{failure: errors.New("unavailable")}, nil)
		logs.For(SubsystemMain).Info("line")
		pass(batchQuiet - batchWait)
		logs.For(SubsystemMain).Info("line")
		pass(3 * batchWait)
		logs.For(SubsystemMain).Info("line")
		pass(2 * batchWait)
		_ = logs.Close()
		var told []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, `"subsystem":"telemetry"`) {
				told = append(told, line)
			}
		}
		if len(told) != 2 || !strings.Contains(told[0], `"error":"unavailable"`) ||
			!strings.Contains(told[0], `"unsent":1}`) ||
			!strings.Contains(told[1], `"unsent":4}`) {
			t.Errorf("logged: %q", told)
		}
	})
}
