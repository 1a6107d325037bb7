package loadbalancer

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// clinic is a Dialer whose endpoints answer checks as they are set.
type clinic struct {
	mutex  sync.Mutex
	ill    map[string]bool
	probes map[string]int
	paths  []string
	made   []UpstreamKey
}

func newClinic() *clinic { return &clinic{ill: map[string]bool{}, probes: map[string]int{}} }

func (c *clinic) Connect(key UpstreamKey) Connections {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.made = append(c.made, key)
	return visit{clinic: c, address: key.Endpoint.Address.String()}
}

// sick says how an endpoint answers from now on.
func (c *clinic) sick(address string, ill bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.ill[address] = ill
}

// count returns how often an endpoint was checked.
func (c *clinic) count(address string) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.probes[address]
}

type visit struct {
	clinic  *clinic
	address string
}

func (v visit) RoundTrip(r *http.Request) (*http.Response, error) {
	v.clinic.mutex.Lock()
	defer v.clinic.mutex.Unlock()
	v.clinic.probes[v.address]++
	v.clinic.paths = append(v.clinic.paths, r.URL.Path)
	if v.clinic.ill[v.address] {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func (visit) Send(*client.RoundTrip, *http.Request, SharedSender) (*http.Response, error) {
	return nil, http.ErrNotSupported
}
func (visit) Shares() bool                        { return false }
func (visit) IdleConnections() (idle, shared int) { return 0, 0 }

func (visit) CloseIdleConnections() {}
func (visit) Close()                {}

func check(t *testing.T, path string) health.Check {
	t.Helper()
	config := &dynamic.ServerHealthCheck{}
	config.SetDefaults()
	config.Path, config.Interval, config.Jitter = path, 10e9, new(0)
	made, err := health.NewCheck(config)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ward is a rig in a bubble of time, with a prober and endpoints to check.
type ward struct {
	*rig
	clinic *clinic
}

func inWard(t *testing.T, run func(t *testing.T, w *ward)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		prober := health.NewProber(8)
		defer prober.Close()
		w := &ward{rig: newRig(t, prober), clinic: newClinic()}
		w.now = time.Now()
		run(t, w)
	})
}

// wait lets time pass for the probes too.
func (w *ward) wait(d time.Duration) {
	pass(d)
	synctest.Wait()
	w.now = time.Now()
	w.Flush(w.now)
	pass(FlushInterval)
	w.now = time.Now()
	w.Flush(w.now)
}

func (w *ward) spec(name string, n int, path string) PoolSpec {
	return PoolSpec{
		Name: name, Dialer: w.clinic, Servers: servers(n), Policies: Policies{Checked: true, Check: check(w.t, path)},
	}
}

func TestChecksTakeEndpointsOut(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		w.clinic.sick("192.0.2.1:80", true)
		pool := w.pool(w.spec("shop", 2, "/health"))
		equal(t, "before anybody was asked", len(w.who(pool, 4)), 2)
		w.wait(0)
		equal(t, "after the first check, which is at once", w.who(pool, 4), []string{"192.0.2.2:80"})
		w.clinic.sick("192.0.2.2:80", true)
		w.wait(10 * time.Second)
		equal(t, "when all are ill", w.who(pool, 4), []string{"nobody"})
		equal(t, "up", pool.Up(), false)
		_, err := pool.Acquire(&Request{})
		equal(t, "reason", refusal(t, err).Reason, "no endpoint may answer: 2 known, none serving, 2 unhealthy")
		w.clinic.sick("192.0.2.1:80", false)
		w.wait(10 * time.Second)
		equal(t, "when one is well", w.who(pool, 4), []string{"192.0.2.1:80"})
		equal(t, "events", len(w.events), 3)
	})
}

// TestChecksAreShared has two pools with the same check, and a third with another one.
func TestChecksAreShared(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		w.clinic.sick("192.0.2.1:80", true)
		one := w.pool(w.spec("one", 2, "/health"))
		w.wait(0)
		two := w.pool(w.spec("two", 2, "/health"))
		equal(t, "a result that is there already counts at once", w.who(two, 4), []string{"192.0.2.2:80"})
		w.wait(0)
		equal(t, "checks of one endpoint by two pools", w.clinic.count("192.0.2.1:80"), 1)
		w.pool(w.spec("three", 2, "/other"))
		w.wait(0)
		equal(t, "checks after another question", w.clinic.count("192.0.2.1:80"), 2)
		w.Release("one")
		w.Release("three")
		w.clinic.sick("192.0.2.1:80", false)
		w.wait(10 * time.Second)
		equal(t, "checks when two pools have gone", w.clinic.count("192.0.2.1:80"), 3)
		equal(t, "the pool that stays", len(w.who(two, 4)), 2)
		equal(t, "the pool that went", len(w.who(one, 4)), 1)
		w.Release("two")
		w.wait(time.Minute)
		equal(t, "checks when all have gone", w.clinic.count("192.0.2.1:80"), 3)
		equal(t, "probes", len(w.probes), 0)
	})
}

// TestChecksOfPredecessor begins with the failed checks of another registry, until there are results.
func TestChecksOfPredecessor(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		w.clinic.sick("192.0.2.1:80", true)
		w.pool(w.spec("shop", 2, "/health"))
		w.wait(0)
		failed := w.FailedChecks()
		equal(t, "failed", len(failed), 1)
		next := &ward{rig: newRig(t, w.prober), clinic: newClinic()}
		next.now = w.now
		next.Inherit(append(failed, FailedCheck{Pool: "other", Address: servers(2)[1].Address}))
		pool := next.pool(next.spec("shop", 2, "/changed"))
		equal(t, "before the first result", next.who(pool, 4), []string{"192.0.2.2:80"})
		again := next.FailedChecks()
		equal(t, "the same before the first result", len(again) == 1 && again[0] == failed[0], true)
		next.wait(0)
		equal(t, "after the first result", len(next.who(pool, 4)), 2)
		next.Release("shop")
		equal(t, "it counts once", len(next.who(next.pool(next.spec("shop", 2, "/health")), 4)), 2)
		next.wait(inheritance)
		other := next.spec("other", 2, "/health")
		equal(t, "it counts for some time", len(next.who(next.pool(other), 4)), 2)
	})
}

// TestReloadRestartsNoCheck changes everything about a pool but its check and one of its servers.
func TestReloadRestartsNoCheck(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		w.clinic.sick("192.0.2.1:80", true)
		pool := w.pool(w.spec("shop", 2, "/health"))
		w.wait(0)
		for n := 3; n < 6; n++ {
			spec := w.spec("shop", n, "/health")
			spec.Servers[0].Weight = n
			spec.Panic = n
			w.pool(spec)
			if who := w.who(pool, 12); who[0] == "192.0.2.1:80" {
				t.Fatal("the result is lost")
			}
		}
		w.wait(0)
		equal(t, "checks", w.clinic.count("192.0.2.1:80"), 1)
		w.pool(w.spec("shop", 2, "/changed"))
		w.wait(0)
		equal(t, "checks after a change of the definition", w.clinic.count("192.0.2.1:80"), 2)
		spec := w.spec("shop", 2, "/changed")
		spec.Policies = Policies{}
		w.pool(spec)
		equal(t, "without a check", len(w.who(pool, 4)), 2)
	})
}

func TestPanic(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		spec := w.spec("shop", 4, "/health")
		spec.Panic = 50
		pool := w.pool(spec)
		for ill, want := range []int{4, 3, 2, 4, 4} {
			if ill > 0 {
				w.clinic.sick(spec.Servers[ill-1].Host, true)
				w.wait(10 * time.Second)
			}
			equal(t, "who serves", len(w.who(pool, 40)), want)
		}
		equal(t, "up", pool.Up(), false)
		equal(t, "panics", pool.Counters().Panics.Load(), uint64(1))
	})
}

// TestTerminatingHelpsOut has the endpoints that stay be ill, so that those that leave are better than none.
func TestTerminatingHelpsOut(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		w.clinic.sick("192.0.2.1:80", true)
		w.Apply(endpointSet(1, "192.0.2.1:80#a", "192.0.2.2:80#b!"))
		spec := w.spec("shop", 0, "/health")
		spec.Servers = []ServerSpec{following(web, 1)}
		pool := w.pool(spec)
		equal(t, "while both are well", w.who(pool, 4), []string{"192.0.2.1:80#a"})
		w.wait(0)
		equal(t, "when the one that stays is ill", w.who(pool, 4), []string{"192.0.2.2:80#b"})
	})
}

// TestTwoVerdicts has an endpoint be out for both reasons: it is back when neither is left.
func TestTwoVerdicts(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		spec := w.spec("shop", 3, "/health")
		spec.Outlier = detection(t)
		pool := w.pool(spec)
		w.wait(0)
		w.clinic.sick("192.0.2.1:80", true)
		w.fails(pool, "192.0.2.1:80", 3)
		w.wait(10 * time.Second) // The ejection is over, and the check has failed.
		equal(t, "who serves", w.who(pool, 30), []string{"192.0.2.2:80", "192.0.2.3:80"})
		w.clinic.sick("192.0.2.1:80", false)
		w.wait(10 * time.Second)
		equal(t, "who serves in the end", len(w.who(pool, 30)), 3)
		var told []State
		for _, event := range w.events {
			told = append(told, event.State)
		}
		equal(t, "told", told, []State{Ejected, Unhealthy, Serving})
	})
}

// TestPanicUsesDrainingEndpoints has only unhealthy endpoints but healthy draining ones, which are used too.
func TestPanicUsesDrainingEndpoints(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		w.clinic.sick("192.0.2.1:80", true)
		w.Apply(endpointSet(1, "192.0.2.1:80", "192.0.2.2:80!", "192.0.2.3:80"))
		spec := w.spec("shop", 0, "/health")
		spec.Servers, spec.Panic = []ServerSpec{following(web, 1)}, 60
		pool := w.pool(spec)
		w.wait(0)
		equal(t, "while somebody who stays is well", w.who(pool, 12), []string{"192.0.2.1:80", "192.0.2.3:80"})
		w.clinic.sick("192.0.2.3:80", true)
		w.wait(10 * time.Second)
		equal(t, "when nobody is", w.who(pool, 12), []string{"192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"})
	})
}

// TestAChangedCheckKeepsTheVerdict holds an endpoint out until the new check has an answer.
func TestAChangedCheckKeepsTheVerdict(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		w.clinic.sick("192.0.2.1:80", true)
		pool := w.pool(w.spec("shop", 2, "/health"))
		w.wait(0)
		w.pool(w.spec("shop", 2, "/changed"))
		equal(t, "before the first answer", w.who(pool, 4), []string{"192.0.2.2:80"})
		w.wait(0)
		equal(t, "after it", w.who(pool, 4), []string{"192.0.2.2:80"})
		w.clinic.sick("192.0.2.1:80", false)
		w.pool(w.spec("shop", 2, "/again"))
		w.wait(0)
		equal(t, "after a good one", len(w.who(pool, 4)), 2)
	})
}

// TestCheckOfAPathWithoutSlash has a path that is relative to that of the server's URL.
func TestCheckOfAPathWithoutSlash(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		for _, path := range []string{"health", "/health"} {
			spec := w.spec("shop", 1, path)
			spec.Servers[0].URL = "http://192.0.2.1:80/app/"
			w.pool(spec)
			w.wait(0)
		}
		equal(t, "paths", w.clinic.paths, []string{"/app/health", "/health"})
	})
}

// TestChecksVerifyTheServersName reaches a server over TLS by the name of the requests.
func TestChecksVerifyTheServersName(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		spec := w.spec("shop", 2, "/health")
		spec.Servers[0].Scheme, spec.Servers[0].Host = "https", "shop.example:443"
		w.pool(spec)
		w.wait(0)
		hosts := map[string]string{}
		for _, key := range w.clinic.made {
			if key.Endpoint.Source == "health" {
				hosts[key.Scheme] = key.Host
			}
		}
		equal(t, "hosts", hosts, map[string]string{"http": "", "https": "shop.example:443"})
	})
}
