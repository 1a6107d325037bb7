package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
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
		s := &system{logs: silent{}, observers: observers{tracer: tracer, pusher: metrics}}
		began := time.Now()
		s.stopObserving()
		if took := time.Since(began); took != lastSend {
			t.Errorf("the end took %v, want %v", took, lastSend)
		}
		if metrics.given != lastSend {
			t.Errorf("the metrics were given %v, want %v", metrics.given, lastSend)
		}
		close(exporter.letGo)
	})
}

// heard keeps what is logged.
type heard struct {
	telemetry.Discard
	lines []string
}

func (h *heard) Debug(message string, _ ...any) { h.lines = append(h.lines, message) }

// What a server sends without being asked may hold a cookie, and net/http logs how it begins.
func TestStraysHoldNoAnswers(t *testing.T) {
	logger := &heard{}
	line := "Unsolicited response received on idle HTTP channel starting with \"HTTP/1.1 200\\r\\nSet-Cookie: s3cr3t\"; err=<nil>\n"
	if n, err := (strays{logger}).Write([]byte(line)); n != len(line) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if len(logger.lines) != 1 || logger.lines[0] != "Unsolicited response received on idle HTTP channel" {
		t.Errorf("it logs %q", logger.lines)
	}
}
