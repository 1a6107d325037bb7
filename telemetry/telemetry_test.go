package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLoggerWritesLevelsAndFields(t *testing.T) {
	var out bytes.Buffer
	logger, err := NewLogger(LogOptions{Level: "warn", Format: "json", Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	logger.Debug("unseen")
	logger.Info("unseen")
	logger.Warn("seen", "router", "a@file", "count", 3)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("not one line of JSON: %q", out.String())
	}
	if line["msg"] != "seen" || line["level"] != "warning" || line["router"] != "a@file" || line["count"] != 3.0 {
		t.Errorf("line %v", line)
	}
}

func TestLoggerStartsAtInfo(t *testing.T) {
	var out bytes.Buffer
	logger, err := NewLogger(LogOptions{Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	logger.Debug("unseen")
	logger.Info("seen")
	logger.Error("too")
	if text := out.String(); strings.Contains(text, "unseen") || !strings.Contains(text, "seen") ||
		!strings.Contains(text, "too") {
		t.Errorf("log: %q", text)
	}
}

func TestLoggerNamesTheOptionThatIsWrong(t *testing.T) {
	for option, options := range map[string]LogOptions{
		"log.level":  {Level: "loud", Output: &bytes.Buffer{}},
		"log.format": {Format: "xml", Output: &bytes.Buffer{}},
	} {
		if _, err := NewLogger(options); err == nil || !strings.Contains(err.Error(), option) {
			t.Errorf("%s: error %v", option, err)
		}
	}
}

// remembered is a logger that keeps its lines.
type remembered struct {
	mu    sync.Mutex
	lines []string
}

func (r *remembered) add(level, message string, keysAndValues []any) {
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

func (r *remembered) Debug(message string, kv ...any) { r.add("debug", message, kv) }
func (r *remembered) Info(message string, kv ...any)  { r.add("info", message, kv) }
func (r *remembered) Warn(message string, kv ...any)  { r.add("warn", message, kv) }
func (r *remembered) Error(message string, kv ...any) { r.add("error", message, kv) }

func TestFailuresAreLoggedAwayFromTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &remembered{}
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

func TestReloadsAreVisible(t *testing.T) {
	metrics := NewMetrics(MetricsOptions{Dropped: func() uint64 { return 7 }})
	metrics.SetQuarantined(2)
	metrics.Reloaded(Reload{Generation: 3, UnixSeconds: 1700000000, CompileSeconds: 0.25})
	page := scrape(t, metrics)
	for _, want := range []string{
		"traefik_config_reloads_total 1", "traefik_config_last_reload_success 1.7e+09", "sluice_config_generation 3",
		"sluice_config_quarantined_objects 2", "sluice_config_compile_seconds 0.25", "sluice_log_failures_dropped_total 7",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestProvidersAreCountedByKind(t *testing.T) {
	metrics := NewMetrics(MetricsOptions{EntryPoints: true})
	metrics.CountProvider("events", "kubernetescrd", "IngressRoute.traefik.io", 3)
	metrics.CountProvider("builds", "kubernetescrd", "IngressRoute.traefik.io", 2)
	metrics.CountProvider("pushes", "kubernetescrd", "IngressRoute.traefik.io", 1)
	metrics.CountProvider("drops", "kubernetescrd", "IngressRoute.traefik.io", 1)
	metrics.CountProvider("drops", "kubernetescrd", "IngressRoute.traefik.io", 1)
	metrics.CountProvider("novelties", "kubernetescrd", "IngressRoute.traefik.io", 1)
	metrics.DropEvent()
	page := scrape(t, metrics)
	for name, want := range map[string]string{"events": "3", "builds": "2", "pushes": "1", "drops": "2"} {
		line := "sluice_provider_" + name + `_total{kind="IngressRoute.traefik.io",provider="kubernetescrd"} ` + want
		if !strings.Contains(page, line) {
			t.Errorf("the page lacks %s", line)
		}
	}
	if !strings.Contains(page, "sluice_kubernetes_events_dropped_total 1") {
		t.Error("a dropped event is not counted")
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

func scrape(t *testing.T, metrics *Metrics) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics",
		http.NoBody))
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d", recorder.Code)
	}
	return recorder.Body.String()
}
