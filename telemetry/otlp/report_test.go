package otlp_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"

	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// lines keeps what is logged.
type lines struct {
	mutex sync.Mutex
	all   []string
}

func (l *lines) add(level, message string, pairs []any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.all = append(l.all, fmt.Sprintln(append([]any{level, message}, pairs...)...))
}

func (l *lines) Debug(message string, pairs ...any) { l.add("debug", message, pairs) }
func (l *lines) Info(message string, pairs ...any)  { l.add("info", message, pairs) }
func (l *lines) Warn(message string, pairs ...any)  { l.add("warn", message, pairs) }
func (l *lines) Error(message string, pairs ...any) { l.add("error", message, pairs) }

func TestAReporterLogsEachKindOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := &lines{}
		reporter := otlp.NewReporter(logged)
		for range 5 {
			reporter.Handle(&otlp.Failure{Signal: "traces", Reason: "no way"})
			reporter.Handle(fmt.Errorf("export: %w", &otlp.Failure{Signal: "logs", Reason: "full"}))
			reporter.Handle(errors.New("some\nthing"))
			reporter.Handle(nil)
		}
		<-time.NewTimer(59 * time.Second).C
		reporter.Handle(&otlp.Failure{Signal: "traces", Reason: "no way"})
		<-time.NewTimer(2 * time.Second).C
		reporter.Handle(&otlp.Failure{Signal: "traces", Reason: "still not"})
		<-time.NewTimer(61 * time.Second).C
		reporter.Handle(&otlp.Failure{Signal: "traces", Reason: "again"})
		want := []string{
			"warn OpenTelemetry failed signal traces error send traces to the collector: no way unreported 0\n",
			"warn OpenTelemetry failed signal logs error send logs to the collector: full unreported 0\n",
			"warn OpenTelemetry failed signal other error some thing unreported 0\n",
			"warn OpenTelemetry failed signal traces error send traces to the collector: still not unreported 5\n",
			"warn OpenTelemetry failed signal traces error send traces to the collector: again unreported 0\n",
		}
		if diff := cmp.Diff(want, logged.all); diff != "" {
			t.Error(diff)
		}
	})
}

// What the libraries complain of would go to the standard error, with values of the environment in it.
func TestReportTakesWhatTheLibrariesSay(t *testing.T) {
	logged := &lines{}
	otlp.Report(logged)
	otel.Handle(&otlp.Failure{Signal: "metrics", Reason: "full"})
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", secret)
	if err := sendSpan(t.Context(), grpcOptions(newCollector().byGRPC(t), true, nil), nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"warn OpenTelemetry failed signal metrics error send metrics to the collector: full unreported 0\n",
		"warn OpenTelemetry failed signal other error parse headers unreported 0\n",
	}
	if diff := cmp.Diff(want, logged.all); diff != "" {
		t.Error(diff)
	}
}
