package start

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const static = `
entryPoints:
  web: {address: "127.0.0.1:0"${WEB}}
  traefik: {address: "127.0.0.1:0"${INTERNAL}}
ping: {terminatingStatusCode: 410}
providers: {file: {directory: "${DYNAMIC}"}}
`

const everything = `
http:
  routers: {all: {rule: "PathPrefix(` + "`/`" + `)", service: one}}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
`

// startWith starts Sluice with one router for everything, and further options of the entrypoints.
func startWith(t *testing.T, backend *harness.Backend, web, internal string, setup harness.Setup) *harness.Sluice {
	t.Helper()
	setup.Static = static
	setup.Dynamic = map[string]string{"all.yaml": everything}
	setup.Vars = map[string]string{"WEB": web, "INTERNAL": internal, "BACKEND": backend.H1}
	return harness.Start(t, setup)
}

// TestOverrides lets the environment override the file, and flags override both; what none of them names stays.
func TestOverrides(t *testing.T) {
	t.Parallel()
	backend := harness.StartBackend(t, "one", nil)
	s := startWith(t, backend, "", "", harness.Setup{
		Env: []string{
			"SLUICE_LOG_FORMAT=json",
			"SLUICE_LOG_LEVEL=ERROR",
			"SLUICE_ENTRYPOINTS_WEB_HTTP_MAXHEADERCOUNT=10",
			"SLUICE_ENTRYPOINTS_FROMENV_ADDRESS=127.0.0.1:0",
		},
		Args: []string{
			"--log.level=DEBUG", "--entryPoints.fromflag.address=127.0.0.1:0",
			"--entrypoints.fromflag.http.maxHeaderCount=200",
		},
	})
	for _, entrypoint := range []string{"web", "fromenv", "fromflag"} {
		client := harness.NewClient(t, harness.H1, s.Addr(entrypoint), "any.test", nil)
		if got := client.Get("/"); got.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", entrypoint, got.StatusCode)
		}
	}
	many := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil).Request(http.MethodGet, "/", nil)
	for _, name := range strings.Split("A B C D E F G H I J", " ") {
		many.Header.Set("X-"+name, "1")
	}
	if got := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test",
		nil).Send(many); got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("more fields than the environment allows: status %d", got.StatusCode)
	}
	if !strings.HasPrefix(s.WaitLog("listening"), "{") {
		t.Errorf("the log is not JSON:\n%s", s.Log)
	}
}
