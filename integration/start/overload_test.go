package start

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const classes = `
http:
  routers:
    normal: {rule: "Path(` + "`/`" + `)", service: one}
    critical: {rule: "Path(` + "`/critical`" + `)", service: one, priorityClass: critical}
    ping: {rule: "Path(` + "`/ping`" + `)", service: "ping@internal"}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
`

// startOverloaded starts Sluice and waits until an action begins.
func startOverloaded(t *testing.T, action string, args ...string) *harness.Sluice {
	t.Helper()
	backend := harness.StartBackend(t, "one", nil)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"classes.yaml": classes},
		Vars: map[string]string{"WEB": "", "INTERNAL": "", "BACKEND": backend.H1},
		Args: append(args, "--metrics.prometheus=true"),
	})
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	if got := client.Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("before the first measurement: status %d", got.StatusCode)
	}
	s.WaitLog("subsystem=overload", "overload: "+action+" begins")
	return s
}

// TestAMemoryLimitBelowAllNeedsRefusesAllButCriticalRequests has a pressure that never ends.
func TestAMemoryLimitBelowAllNeedsRefusesAllButCriticalRequests(t *testing.T) {
	t.Parallel()
	s := startOverloaded(t, "shedHigh", "--overload.memory.limit=1000")
	s.WaitLog("subsystem=overload", "overload: shedDefault begins", "monitor=memory", "option=overload.memory")
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	for path, want := range map[string]int{
		"/": http.StatusServiceUnavailable, "/critical": http.StatusOK, "/ping": http.StatusOK,
		"/none": http.StatusNotFound,
	} {
		got := client.Get(path)
		if got.StatusCode != want || want == http.StatusServiceUnavailable && got.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: status %d, %v", path, got.StatusCode, got.Header)
		}
	}
	s.WaitLog("level=info", "request failed", "code=overloaded", "router=normal@file")
	internal := harness.NewClient(t, harness.H1, s.Addr("traefik"), "any.test", nil)
	if got := internal.Get("/ready"); got.StatusCode != http.StatusOK {
		t.Errorf("/ready: status %d", got.StatusCode)
	}
	shown := internal.Get("/metrics").Text
	for _, line := range []string{
		`sluice_overload_active{action="shedDefault"} 1`, `sluice_overload_pressure{monitor="memory"} 1`,
		`sluice_overload_shed_total{class="default"} 1`,
	} {
		if !strings.Contains(shown, line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// TestManyConnectionsEndWithTheirResponses demands that no request is refused, and that the entrypoint of ping is left
// alone.
func TestManyConnectionsEndWithTheirResponses(t *testing.T) {
	t.Parallel()
	s := startOverloaded(t, "endKeepAlive", "--overload.connections.limit=1", "--overload.memory.limit=-1")
	web, internal := harness.Dial(t, s.Addr("web")), harness.Dial(t, s.Addr("traefik"))
	for range 2 {
		if got, err := internal.RoundTrip("GET /ping HTTP/1.1\r\nHost: any.test\r\n\r\n"); err != nil || got.Close {
			t.Errorf("ping: %v, %v", got, err)
		}
	}
	got, err := web.RoundTrip(get)
	if err != nil || got.StatusCode != http.StatusOK || !got.Close {
		t.Fatalf("%v, %v", got, err)
	}
	if rest := web.Rest(); rest != "" {
		t.Errorf("after the response: %q", rest)
	}
}
