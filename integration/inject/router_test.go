package inject

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestRouterRunsTheWebhook has the process of the router answer reviews, and shows their counts on its metrics page.
func TestRouterRunsTheWebhook(t *testing.T) {
	f := prepare(t)
	router := harness.Start(t, harness.Setup{
		Static: `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
metrics: {prometheus: {}}
injector: {config: "` + f.folder + `", address: "127.0.0.1:0", drainTimeout: 4s}
`,
		Env: []string{"KUBECONFIG=" + f.kubeconfig, "POD_NAMESPACE=" + system},
	})
	f.service.add(addressIn(router.WaitLog("listening", "admission")))
	f.untilInjected("first")
	for _, want := range []string{
		`sluice_injector_reviews_total{result="injected"}`, `sluice_injector_certificate_not_after{certificate="authority"}`,
		"sluice_injector_config_last_reload_success 1",
	} {
		// A review may be counted after its answer.
		f.until("the metrics page has "+want, func() bool {
			return strings.Contains(router.Management().Get("/metrics").Text, want)
		})
	}
}
