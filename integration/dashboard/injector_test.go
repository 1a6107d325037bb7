package dashboard

import (
	"crypto/tls"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// injecting is static with a webhook that needs no cluster.
const injecting = static + `injector:
  address: "127.0.0.1:0"
  config: "${DYNAMIC}/inject.conf"
  tls: {certFile: "${CERT}", keyFile: "${KEY}"}
  events: false
  webhookConfiguration: ""
  drainTimeout: 0s
`

// tagging injects a label into pods that ask for it.
const tagging = `
policy: disabled
defaultTemplates: [tag]
templates:
  tag: |
    metadata: {labels: {tag: web}}
`

// review is a request for a pod.
const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1",
	"kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},"namespace":"NAMESPACE",
	"operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod",POD}}}`

// TestInjector shows a webhook that has injected one pod and skipped three, has failed once, and gets a configuration
// with a mistake.
func TestInjector(t *testing.T) {
	chromium := newBrowser(t)
	authority := harness.NewAuthority(t)
	issued := authority.Issue("127.0.0.1")
	sluice := harness.Start(t, harness.Setup{
		Static: injecting, Dynamic: map[string]string{"inject.conf": tagging},
		Vars: map[string]string{"CERT": issued.CertFile, "KEY": issued.KeyFile},
	})
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(sluice.WaitLog("listening", "protocol=admission"))
	webhook := harness.NewClient(t, harness.H1TLS, address, address, &tls.Config{
		RootCAs: authority.Pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12,
	})
	harness.Eventually(t, timeout, func() bool { return webhook.Get("/ready").StatusCode == http.StatusOK },
		func() string { return "the webhook is not ready\n" + sluice.Log.String() })
	for _, one := range []struct{ namespace, pod string }{
		{"shop", `"metadata":{"name":"web","labels":{"inject.sluice.dev/inject":"true"}}`},
		{"shop", `"metadata":{"name":"a"}`},
		{"shop", `"metadata":{"name":"b"}`},
		{"<b>orders</b>", `"metadata":{"name":"c"},"spec":{"hostNetwork":true}`},
		{"shop", `"metadata":{"name":"d"},"spec":5`},
	} {
		text := strings.NewReplacer("NAMESPACE", one.namespace, "POD", one.pod).Replace(review)
		request := webhook.Request(http.MethodPost, "/inject", strings.NewReader(text))
		request.Header.Set("Content-Type", "application/json")
		if got := webhook.Send(request); got.StatusCode != http.StatusOK {
			t.Fatalf("the review of %s: status %d: %s", one.pod, got.StatusCode, got.Text)
		}
	}
	if got := webhook.Get("/inject"); got.StatusCode != http.StatusMethodNotAllowed {
		t.Fatalf("GET /inject: status %d", got.StatusCode)
	}
	chromium.run(t, sluice, "/dashboard/", "injects")
}
