package metrics

import (
	"strings"
	"testing"
)

func TestReloadsAreVisible(t *testing.T) {
	metrics := New(Options{Dropped: func() uint64 { return 7 }})
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
	metrics := New(Options{EntryPoints: true})
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
