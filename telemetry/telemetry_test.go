package telemetry

import (
	"context"
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
