package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// TestRemovedListenersAreShownForFiveMinutes demands that a connection of one keeps it, and that it returns with its
// counts.
func TestRemovedListenersAreShownForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		exist := map[string]bool{"web": true, "http@gateway": true}
		s.ServeEntrypointsOnly(func() map[string]bool { return exist })
		s.request(nil, nil)
		listener := s.Entrypoint("http@gateway")
		count := func() { listener.Count(&metrics.Request{Method: "GET", Status: 200}) }
		expect := func(when, want string) {
			t.Helper()
			var recorder *httptest.ResponseRecorder
			for range 2 { // A scrape drops what the next one does not show.
				recorder = httptest.NewRecorder()
				s.Handler().ServeHTTP(recorder,
					httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
			}
			got := "none"
			for line := range strings.Lines(recorder.Body.String()) {
				if strings.HasPrefix(line, "traefik_entrypoint_requests_total{") && strings.Contains(line, "http@gateway") {
					got = strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:])
				}
			}
			if got != want {
				t.Errorf("%s: %s requests of the listener are shown, want %s", when, got, want)
			}
			shown := strings.Contains(recorder.Body.String(), `open_connections{entrypoint="http@gateway"`)
			if shown != (want != "none") {
				t.Errorf("%s: the gauge of connections is shown: %v", when, shown)
			}
			if !strings.Contains(recorder.Body.String(), `traefik_entrypoint_requests_total{code="200",entrypoint="web"`) {
				t.Errorf("%s: the entrypoint that exists is not shown", when)
			}
		}
		count()
		listener.Opened()
		expect("while it exists", "1")
		delete(exist, "http@gateway")
		expect("after the removal", "1")
		pass(2 * retention)
		expect("while a connection is open", "1")
		listener.Closed()
		expect("when none is open", "1")
		pass(retention - time.Nanosecond)
		expect("before five minutes", "1")
		pass(time.Nanosecond)
		expect("after five minutes", "none")
		runtime.GC()
		count() // A request that took long.
		expect("when a late request has ended", "2")
		pass(retention)
		expect("five minutes later", "none")
		exist["http@gateway"] = true
		if s.Entrypoint("http@gateway") != listener {
			t.Error("the listener that returns has other counts")
		}
		count()
		expect("when it is declared again", "3")
		pass(2 * retention)
		expect("while it exists again", "3")
	})
}
