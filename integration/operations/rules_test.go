package operations

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// now is the time of the last scrape of made-up series, in seconds.
const now = 1_800_000_000

// line is one made-up series: its value minutes after the first scrape is base + each*minutes.
type line struct {
	series     string
	base, each float64
}

// pages returns a scrape for each of the last minutes of an instance with these series.
func pages(minutes int, lines []line) []scrape {
	all := make([]scrape, minutes+1)
	for i := range all {
		var text strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&text, "%s %s\n", l.series, strconv.FormatFloat(l.base+l.each*float64(i), 'f', -1, 64))
		}
		all[i] = scrape{Seconds: now - 60*float64(minutes-i), Text: text.String(), Labels: map[string]string{
			"job":      "sluice",
			"instance": "edge-1",
		}}
	}
	return all
}

// requests returns the series of one level with a number of requests a minute by code.
func requests(level, label string, perMinute map[string]float64) []line {
	var lines []line
	for code, each := range perMinute {
		lines = append(lines, line{fmt.Sprintf(`traefik_%s_requests_total{%s="x",code="%s",method="GET",protocol="http"}`,
			level, label, code), 0, each})
	}
	return lines
}

// slow returns the histogram of a service with a number of requests a minute, some of them slower than 1.2 s.
func slow(all, slower float64) []line {
	const name, labels = "traefik_service_request_duration_seconds", `service="x",code="200",method="GET",protocol="http"`
	return []line{
		{name + `_bucket{` + labels + `,le="0.3"}`, 0, all - slower},
		{name + `_bucket{` + labels + `,le="1.2"}`, 0, all - slower},
		{name + `_bucket{` + labels + `,le="+Inf"}`, 0, all},
		{name + `_count{` + labels + `}`, 0, all},
	}
}

// servers returns how many of ten servers are up.
func servers(up int) []line {
	lines := make([]line, 10)
	for i := range lines {
		lines[i].series = fmt.Sprintf(`traefik_service_server_up{service="x",url="http://198.51.100.%d:80"}`, i)
		if i < up {
			lines[i].base = 1
		}
	}
	return lines
}

// lags returns the histogram of a provider whose changes take one or ten seconds.
func lags(seconds string) []line {
	const name = "sluice_provider_lag_seconds_bucket"
	lines := []line{
		{name + `{provider="p",le="1"}`, 0, 0},
		{name + `{provider="p",le="10"}`, 0, 60},
		{name + `{provider="p",le="+Inf"}`, 0, 60},
	}
	if seconds == "1" {
		lines[0].each = 60
	}
	return lines
}

// own prepends the line that identifies the process as Sluice.
func own(lines ...line) []line { return append(lines, line{"sluice_config_generation", 7, 0}) }

// situation is what an alert is about.
type situation struct {
	minutes int
	// bad is a situation in which the alert fires, good one in which it does not.
	bad, good []line
}

// situations are one for each alert.
func situations() map[string]situation {
	const day = 86400
	expires := func(days float64) []line {
		return []line{{`traefik_tls_certs_not_after{cn="x.test",serial="1",sans="x.test"}`, now + days*day, 0}}
	}
	counter := func(series string, bad float64) situation {
		return situation{20, []line{{series, 3, bad}}, []line{{series, 3, 0}}}
	}
	gauge := func(series string, bad, good float64) situation {
		return situation{20, []line{{series, bad, 0}}, []line{{series, good, 0}}}
	}
	service := func(name string) string { return "sluice_service_" + name + `_total{service="x"}` }
	return map[string]situation{
		"SluiceErrorBudgetBurnsFast": {
			70, requests("entrypoint", "entrypoint", map[string]float64{"200": 98, "500": 2}),
			requests("entrypoint", "entrypoint", map[string]float64{"200": 990, "500": 10, "404": 500}),
		},
		"SluiceErrorBudgetBurnsSlowly": {
			370, requests("entrypoint", "entrypoint", map[string]float64{"200": 990, "502": 10}),
			requests("entrypoint", "entrypoint", map[string]float64{"200": 995, "502": 5}),
		},
		"SluiceServiceFails": {
			20, requests("service", "service", map[string]float64{"200": 80, "503": 20}), requests("service", "service",
				map[string]float64{"200": 95, "503": 5}),
		},
		"SluiceServiceSlow":           {20, slow(100, 20), slow(100, 5)},
		"SluiceServiceWithoutServers": {5, servers(0), servers(1)},
		"SluiceServersDown":           {5, servers(4), servers(5)},
		"SluiceEndpointsEjected":      {40, []line{{service("ejections"), 0, 1}}, []line{{service("ejections"), 0, 0.1}}},
		"SluiceHealthIgnored":         counter(service("panics"), 1),
		"SluiceRetriesExhausted":      counter(service("retries_exhausted"), 1),
		"SluiceServiceSaturated":      counter(service("saturated"), 1),
		"SluiceOverloaded":            counter(`sluice_overload_shed_total{class="default"}`, 1),
		"SluiceRequestsEnded":         counter("sluice_overload_reset_total", 1),
		"SluiceConfigurationRefused":  gauge("sluice_config_quarantined_objects", 2, 0),
		"SluiceChangeRefused":         gauge("sluice_config_retained_objects", 1, 0),
		"SluiceConfigurationSlow":     {20, lags("10"), lags("1")},
		"SluiceConfigurationRestless": {
			20,
			[]line{{"traefik_config_reloads_total", 0, 60}},
			[]line{{"traefik_config_reloads_total", 0, 6}},
		},
		"SluiceCertificateExpiresSoon": {5, expires(13), expires(15)},
		"SluiceCertificateExpiresNow":  {5, expires(1), expires(3)},
		"SluiceClientCRLExpires": {
			5,
			[]line{{`sluice_tls_crl_next_update{options="a@file",issuer="CN=a"}`, now + 3600, 0}},
			[]line{{`sluice_tls_crl_next_update{options="a@file",issuer="CN=a"}`, now + 86400, 0}},
		},
		"SluiceDown": gauge("up", 0, 1),
		"SluiceRestarts": {
			40, own(line{"process_start_time_seconds", now, 1}),
			own(line{"process_start_time_seconds", now, 0}),
		},
		"SluiceFileDescriptors": {
			5, own(line{"process_open_fds", 900, 0}, line{"process_max_fds", 1000, 0}), []line{
				{"process_open_fds", 900, 0},
				{"process_max_fds", 1000, 0},
			},
		},
		"SluiceMemory": {
			5, own(line{"process_resident_memory_bytes", 99, 0}, line{"go_gc_gomemlimit_bytes", 100, 0}),
			own(line{"process_resident_memory_bytes", 99, 0}, line{"go_gc_gomemlimit_bytes", 9e18, 0}),
		},
		"SluiceTelemetryDropped": {
			20,
			[]line{{`sluice_telemetry_dropped_total{signal="access_log"}`, 0, 60}},
			[]line{{`sluice_telemetry_dropped_total{signal="access log"}`, 60, 0}, {"sluice_log_failures_dropped_total", 60, 0}},
		},
	}
}

// TestEveryAlertFiresWhenItShould has each alert fire in a situation that it is for, and be silent in one beside it.
func TestEveryAlertFiresWhenItShould(t *testing.T) {
	p, known := newPrometheus(t), situations()
	for _, rule := range p.rules(t) {
		if rule.Alert == "" {
			continue
		}
		about, ok := known[rule.Alert]
		if !ok {
			t.Errorf("%s: there is no situation for it", rule.Alert)
			continue
		}
		delete(known, rule.Alert)
		if fired := p.ask(t, pages(about.minutes, about.bad), rule.Expr)[0].Series; len(fired) != 1 {
			t.Errorf("%s does not fire when it should: %v", rule.Alert, fired)
		}
		if fired := p.ask(t, pages(about.minutes, about.good), rule.Expr)[0].Series; len(fired) != 0 {
			t.Errorf("%s fires when it should not: %v", rule.Alert, fired)
		}
	}
	for name := range known {
		t.Errorf("%s: there is no such alert", name)
	}
}

// TestDroppedFailuresAreAnAlertToo looks at the second half of an expression.
func TestDroppedFailuresAreAnAlertToo(t *testing.T) {
	p := newPrometheus(t)
	for _, rule := range p.rules(t) {
		if rule.Alert != "SluiceTelemetryDropped" {
			continue
		}
		fired := p.ask(t, pages(20, []line{{"sluice_log_failures_dropped_total", 0, 60}}), rule.Expr)[0].Series
		if len(fired) != 1 || fired[0].Labels["signal"] != "failures" {
			t.Errorf("fired: %v", fired)
		}
	}
}

// TestRecordedFigures computes the recorded series.
func TestRecordedFigures(t *testing.T) {
	p := newPrometheus(t)
	lines := append(requests("service", "service", map[string]float64{"200": 90, "503": 30}),
		requests("entrypoint", "entrypoint", map[string]float64{"200": 60})...)
	lines = append(lines, slow(100, 25)...)
	want := map[string]string{
		"entrypoint:sluice_requests:rate5m": "1", "entrypoint:sluice_errors:ratio5m": "0",
		"service:sluice_requests:rate5m": "2",
		"service:sluice_errors:ratio5m":  "0.25", "service:sluice_slow_requests:ratio5m": "0.25",
	}
	for _, rule := range p.rules(t) {
		if rule.Record == "" {
			continue
		}
		series := p.ask(t, pages(20, lines), rule.Expr)[0].Series
		if len(series) != 1 || rounded(t, series[0].Value) != want[rule.Record] {
			t.Errorf("%s: %v, want %s", rule.Record, series, want[rule.Record])
		}
		delete(want, rule.Record)
	}
	for name := range want {
		t.Errorf("%s is not recorded", name)
	}
}

// rounded returns a value without the noise of its last digits.
func rounded(t *testing.T, value string) string {
	t.Helper()
	number, err := strconv.ParseFloat(value, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatFloat(number, 'g', 6, 64)
}

// TestEveryAlertSaysWhatToDo checks the annotations of alerts.
func TestEveryAlertSaysWhatToDo(t *testing.T) {
	p := newPrometheus(t)
	explained := page(t, "docs/operations.md")
	for _, rule := range p.rules(t) {
		if rule.Alert == "" {
			continue
		}
		switch rule.Labels["severity"] {
		case "critical", "warning", "info":
		default:
			t.Errorf("%s: severity %q", rule.Alert, rule.Labels["severity"])
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s: says too little", rule.Alert)
		}
		if want := "docs/operations.md#" + strings.ToLower(rule.Alert); rule.Annotations["runbook"] != want {
			t.Errorf("%s: runbook %q, want %q", rule.Alert, rule.Annotations["runbook"], want)
		}
		if !strings.Contains(explained, "\n### "+rule.Alert+"\n") {
			t.Errorf("%s: docs/operations.md does not explain it", rule.Alert)
		}
	}
}
