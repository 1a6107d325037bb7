package telemetry

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a logger that keeps its lines.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) add(level, message string, keysAndValues []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := level + " " + message
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i] == "reason" {
			line += " " + keysAndValues[i+1].(string)
		}
	}
	r.lines = append(r.lines, line)
}

func (r *recorder) Debug(message string, kv ...any) { r.add("debug", message, kv) }
func (r *recorder) Info(message string, kv ...any)  { r.add("info", message, kv) }
func (r *recorder) Warn(message string, kv ...any)  { r.add("warn", message, kv) }
func (r *recorder) Error(message string, kv ...any) { r.add("error", message, kv) }

func TestFailuresAreLoggedAwayFromTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &recorder{}
		failures := NewFailures(log)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { failures.Run(ctx); close(done) }()
		failures.Finished(&Record{Status: http.StatusOK})
		failures.Finished(&Record{Status: http.StatusBadGateway, Reason: "refused"})
		failures.Finished(&Record{Status: StatusClientClosedRequest, Reason: "client left"})
		failures.Finished(&Record{Status: http.StatusBadRequest, Reason: "bad path"})
		cancel()
		<-done
		want := []string{"warn request failed refused", "info request failed client left", "debug request failed bad path"}
		if strings.Join(log.lines, "\n") != strings.Join(want, "\n") {
			t.Errorf("log %q, want %q", log.lines, want)
		}
	})
}

func TestTooManyFailuresAreCountedAndNeverBlock(t *testing.T) {
	failures := NewFailures(Discard{})
	for range failureQueue + 5 {
		failures.Finished(&Record{Status: http.StatusBadGateway, Reason: "refused"})
	}
	if failures.Dropped() != 5 {
		t.Errorf("%d dropped, want 5", failures.Dropped())
	}
}

func TestRecordTravelsInTheContext(t *testing.T) {
	record := &Record{Start: time.Unix(1, 0)}
	if RecordFrom(WithRecord(t.Context(), record)) != record {
		t.Error("the record is lost")
	}
	if RecordFrom(t.Context()) == nil {
		t.Error("a request without a record gets none")
	}
}
