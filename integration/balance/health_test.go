package balance

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestChecksSurviveReloads checks two endpoints so rarely that only the first probe can come while the test runs. It
// comes at once, from two services together once for each endpoint, and neither it nor its verdict is touched by
// changes of another service, or of other options of their own.
func TestChecksSurviveReloads(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 2)
	sick, well := fleet[0], fleet[1]
	sick.health.Store(http.StatusServiceUnavailable)
	const check = "healthCheck: {path: /health, interval: 1h}"
	services := site{"one": pool(check, servers(fleet...)...), "two": pool(check, servers(fleet...)...)}
	began := time.Now()
	p := startProxy(t, services)
	p.awaitCount("one", "checks_failed", 1)
	p.awaitCount("two", "checks_failed", 1)
	until(t, "the first probe of each", func() bool { return sick.probes.Load() > 0 && well.probes.Load() > 0 })
	t.Logf("the first probes and their verdicts took %v from the start", time.Since(began))

	before := sick.arrived.Load()
	for reload := range 10 {
		change := "drainTimeout: " + strconv.Itoa(reload+1) + "s"
		services["other"] = pool(change, well.server())
		if reload >= 5 {
			services["one"] = pool(check+", "+change, servers(fleet...)...)
		}
		p.change(services)
		for _, service := range []string{"one", "two"} {
			for range 4 {
				if got := answeredBy(t, p.client(service).Get("/")); got != well.name {
					t.Errorf("after %d reloads %s answers for %s", reload+1, got, service)
				}
			}
		}
	}
	if arrived := sick.arrived.Load() - before; arrived > 0 {
		t.Errorf("%d requests arrived at an endpoint that failed its check", arrived)
	}
	for _, e := range fleet {
		if probes := e.probes.Load(); probes != 1 {
			t.Errorf("%s was probed %d times, want once", e.name, probes)
		}
	}
}

// TestCheckTakesOutAndBringsBack has an endpoint fail its checks and pass them again, with thresholds.
func TestCheckTakesOutAndBringsBack(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 2)
	p := startProxy(t, site{"pool": pool("healthCheck: {path: /health, interval: 50ms, fall: 3, rise: 2}",
		servers(fleet...)...)})
	client := p.client("pool")
	share := func() int {
		own := 0
		for range 10 {
			if answeredBy(t, client.Get("/")) == "a" {
				own++
			}
		}
		return own
	}
	for round := 1; round <= 2; round++ {
		until(t, "a gets its half", func() bool { return share() == 5 })
		fleet[0].health.Store(http.StatusInternalServerError)
		p.awaitCount("pool", "checks_failed", round)
		until(t, "a is out", func() bool { return share() == 0 })
		fleet[0].health.Store(http.StatusOK)
		p.awaitCount("pool", "checks_passed", round)
	}
	until(t, "a gets its half again", func() bool { return share() == 5 })
	if line := p.WaitLog("endpoint failed its check", fleet[0].address); !strings.Contains(line, "500") {
		t.Errorf("the log does not say why: %s", line)
	}
}

// TestEjectionSurvivesReloads ejects an endpoint for so long that it stays out while the test runs, whatever else
// changes.
func TestEjectionSurvivesReloads(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 3)
	fleet[0].status.Store(http.StatusInternalServerError)
	const detection = `outlierDetection: {consecutiveFailures: 3, status: ["5xx"], baseEjectionTime: 1h, ` +
		`maxEjectionTime: 1h}`
	services := site{"pool": pool(detection, servers(fleet...)...)}
	p := startProxy(t, services)
	client := p.client("pool")
	until(t, "a is ejected", func() bool { client.Get("/"); return p.counts("pool")["ejections"] == 1 })
	p.WaitLog("endpoint is ejected", fleet[0].address, "status 500")
	for reload := range 5 {
		change := "drainTimeout: " + strconv.Itoa(reload+1) + "s"
		services["other"] = pool(change, fleet[1].server())
		if reload >= 3 {
			services["pool"] = pool(detection+", "+change, servers(fleet...)...)
		}
		p.change(services)
		for range 6 {
			if got := answeredBy(t, client.Get("/")); got == "a" {
				t.Error("an ejected endpoint answers after a reload")
			}
		}
	}
	if got := p.counts("pool"); got["ejections"] != 1 || got["returns"] != 0 {
		t.Errorf("counts are %v, want one ejection and no return", got)
	}
}
