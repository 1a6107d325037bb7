package reload

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: ${WATCH}}
`

// await polls until the response is as wanted, and fails the test after two minutes.
func await(t *testing.T, client *harness.Client, path string, wanted func(harness.Response) bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		got := client.Get(path)
		if wanted(got) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still status %d, %v, %q", path, got.StatusCode, got.Header, got.Text)
		}
		<-ticker.C
	}
}

// answersWith reports whether a response has the value of the header X-Version.
func answersWith(version string) func(harness.Response) bool {
	return func(r harness.Response) bool {
		return r.StatusCode == http.StatusOK && r.Header.Get("X-Version") == version
	}
}

// simple is a configuration whose one router answers with a version.
func simple(version string) string {
	return `
http:
  routers: {one: {rule: "PathPrefix(` + "`/`" + `)", service: one, middlewares: [version]}}
  middlewares: {version: {headers: {customResponseHeaders: {X-Version: "` + version + `"}}}}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
`
}

// startSimple starts Sluice with the files given.
func startSimple(t *testing.T, watch string, files map[string]string) (*harness.Sluice, *harness.Client) {
	t.Helper()
	backend := harness.StartBackend(t, "one", nil)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: files, Vars: map[string]string{"WATCH": watch, "BACKEND": backend.H1},
	})
	return s, harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
}
