package telemetry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// logLine is a line of Sluice's own log.
type logLine struct {
	Subsystem, Level, Msg, Time, Code, Router string

	Count, Status int
}

// log reads the log as JSON. A line that is none fails the test.
func (w *world) log(t *testing.T) []logLine {
	t.Helper()
	var all []logLine
	for line := range strings.Lines(w.sluice.Log.String()) {
		one := struct {
			logLine
			Status any
		}{}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if _, err := time.Parse(time.RFC3339Nano, one.Time); err != nil || one.Subsystem == "" || one.Level == "" ||
			one.Msg == "" {
			t.Errorf("a line says too little: %s", line)
		}
		all = append(all, one.logLine)
	}
	return all
}

// TestFailuresMakeFewLines sends a thousand requests that fail, in seven ways, and many that do not.
func TestFailuresMakeFewLines(t *testing.T) {
	t.Parallel()
	w := start(t, "log: {level: DEBUG, format: json}\n", nil)
	const requests = 1000
	hosts := []string{
		"lost.test", "empty.test", "refused.test", "guarded.test", "closed.test", "broken.test",
		"limited.test",
	}
	w.client(t, harness.H1, "limited.test").Get("/")
	before, began := len(w.log(t)), time.Now()
	failed := map[string]int{}
	for i := range requests {
		host := hosts[i%len(hosts)]
		client := w.client(t, harness.Protocols()[i/len(hosts)%4], host)
		if status := client.Get("/").StatusCode; status < 400 {
			t.Fatalf("%s: status %d", host, status)
		}
		client.CloseIdleConnections()
		failed[host]++
	}
	w.load(t, requests)
	w.sluice.Stop()
	counts, lines := map[string]int{}, 0
	for _, one := range w.log(t) {
		if one.Subsystem == "requests" {
			lines++
			counts[one.Code] += max(one.Count, 1)
		}
	}
	codes := map[string]string{
		"lost.test": "no_router", "empty.test": "no_endpoint", "refused.test": "endpoint_unreachable",
		"guarded.test": "unauthorized", "closed.test": "forbidden", "broken.test": "router_disabled",
		"limited.test": "rate_limited",
	}
	for host, code := range codes {
		if counts[code] < failed[host] {
			t.Errorf("%s: %d of %d failures are reported", code, counts[code], failed[host])
		}
	}
	// One line at once and one every ten seconds, for each of seven kinds.
	most := 50 + len(hosts)*int(time.Since(began)/(10*time.Second))
	if after := len(w.log(t)); lines > most || after-before > 100 {
		t.Errorf("%d failing requests make %d lines, and the log has grown by %d:\n%s", requests, lines, after-before,
			w.sluice.Log)
	}
}

// TestLevelsOfSubsystems compares which subsystems write which levels.
func TestLevelsOfSubsystems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		options string
		// shown and hidden are subsystems with a level.
		shown, hidden []string
	}{
		{"level: INFO", []string{"main info", "pipeline error"}, []string{"requests debug", "provider.file debug"}},
		{"level: DEBUG", []string{"main info", "requests debug", "pipeline error"}, nil},
		{
			"level: ERROR, levels: {main: INFO, requests: DEBUG}",
			[]string{"main info", "requests debug", "pipeline error"},
			[]string{"pipeline info", "provider.file info"},
		},
		{"level: DEBUG, levels: {requests: ERROR, pipeline: FATAL}", []string{"main info"}, []string{
			"requests debug",
			"requests warning", "pipeline debug", "pipeline error",
		}},
	}
	for _, test := range tests {
		t.Run(test.options, func(t *testing.T) {
			t.Parallel()
			w := start(t, "log: {format: json, "+test.options+"}\n", nil)
			for _, host := range []string{"lost.test", "refused.test"} {
				w.client(t, harness.H1, host).Get("/")
			}
			if slices.Contains(test.shown, "pipeline error") { // Verdicts are reported after half a second.
				w.sluice.WaitLog("object disabled", "broken@file")
			}
			w.sluice.Stop()
			var got []string
			for _, one := range w.log(t) {
				got = append(got, one.Subsystem+" "+one.Level)
			}
			for _, one := range test.shown {
				if !slices.Contains(got, one) {
					t.Errorf("nothing of %s is written: %v", one, got)
				}
			}
			for _, one := range test.hidden {
				if slices.Contains(got, one) {
					t.Errorf("%s is written: %s", one, w.sluice.Log)
				}
			}
		})
	}
}

// TestOneLineForOneThing changes the configuration, and checks the lines about it.
func TestOneLineForOneThing(t *testing.T) {
	t.Parallel()
	w := start(t, "log: {format: json}\n", nil)
	for i := range 3 {
		w.sluice.Apply(func() {
			w.sluice.Write("more.yaml",
				fmt.Sprintf("http: {routers: {more: {rule: 'Host(`more-%d.test`)', service: missing}}}\n", i))
		})
	}
	if status := w.client(t, harness.H1, "more-2.test").Get("/").StatusCode; status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
	w.sluice.WaitLog("object disabled", "more@file", "missing@file", "more.yaml")
	w.sluice.Apply(func() { w.sluice.Write("more.yaml", "http: {}\n") })
	w.sluice.WaitLog("recovered", "more@file")
	w.sluice.Stop()
	lines := 0
	for line := range strings.Lines(w.sluice.Log.String()) {
		if strings.Contains(line, "more@file") && strings.Contains(line, `"subsystem":"pipeline"`) {
			lines++
		}
	}
	if lines != 2 {
		t.Errorf("of a router that is refused, stays so, and goes, %d lines tell:\n%s", lines, w.sluice.Log)
	}
}
