package ingressnginx

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestUnreadableConfigMap demands that nothing is served without what the ConfigMap protects, until it can be read, and
// that a ConfigMap which was read goes on to apply.
func TestUnreadableConfigMap(t *testing.T) {
	for _, state := range []dynamic.ProviderState{dynamic.StateForbidden, dynamic.StateTimedOut} {
		open := placed{"open", "a.example.com", "/", "web", nil}
		cluster := hostile(open.object())
		turn := func(state dynamic.ProviderState) {
			cluster.configMaps.SetStatus(state, "configmaps")
		}
		turn(state)
		config := defaultConfig()
		config.ConfigMap = "shop/settings"
		p := cluster.provider(config)
		demand := func(step string, want int) {
			t.Helper()
			configuration, _ := p.update()
			served, _ := activate(configuration, named)
			for _, host := range []string{"a.example.com", "neighbour.test"} {
				if got := served.status(t, http.MethodGet, &exchange{host: host}); got != want {
					t.Errorf("%v, %s: %s: %d, want %d", state, step, host, got, want)
				}
			}
		}
		demand("at first", http.StatusServiceUnavailable)
		turn(dynamic.StatePending)
		demand("while the watch starts again", http.StatusServiceUnavailable)
		turn(dynamic.StateSynced)
		demand("without a ConfigMap", http.StatusOK)
		turn(state)
		demand("forbidden again", http.StatusServiceUnavailable)
		turn(dynamic.StateSynced)
		cluster.apply(t, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n"))
		demand("with a ConfigMap", http.StatusOK)
		turn(state)
		demand("with one that was read", http.StatusOK)
	}
}
