package kubernetes

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// away is how long the API server is away.
const away = time.Minute

// apiServerGoesAway takes the API server away for a minute under load. What is known goes on serving and stays ready; a
// Sluice that starts meanwhile is not ready. When the API server is back, nothing is done again, and what changes from
// then on arrives.
func apiServerGoesAway(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("away"), polite("away/far"), polite("away/bag"))
	c.Scale("away/far", 3)
	c.Deployed("away/bag")
	g := open(t, c, static)
	g.serves("far.test")
	g.serves("bag.test")
	l := press(t, g, "far.test")
	l.spread(3)
	watch := watchReady(t, g)
	before := g.work()

	kubeconfig := c.AccountKubeconfig(account)
	c.StopAPI()
	over := time.NewTimer(away)
	defer over.Stop()
	late := startWithout(t, kubeconfig)
	select {
	case <-over.C:
	case <-t.Context().Done():
	}
	l.spread(3)
	g.serves("bag.test")
	if answer := late.Readiness(); answer.Status != http.StatusServiceUnavailable || answer.Ready {
		t.Errorf("without an API server, a Sluice that has just started is ready: %+v", answer)
	}
	c.StartAPI()
	late.Until("ready, now that the API server is there", func(r harness.Readiness) bool {
		return r.Status == http.StatusOK
	})
	(&gate{Sluice: late, t: t, web: harness.NewClient(t, harness.H1, late.Addr("web"), "far.test",
		nil)}).serves("far.test")

	// What is changed now comes after all that was there, so that nothing more of that is under way.
	c.Scale("away/bag", 2)
	g.spreads("bag.test", 2)
	if after := g.work(); after != before {
		t.Errorf("the way back was work: before\n%s\nafter\n%s", before, after)
	}
	c.Scale("away/far", 1)
	l.spread(1)
	c.Apply(route("traefik.io", "away/new", "new.test", "[{name: far, port: 80}]"))
	g.serves("new.test")
	watch.end()
	l.end()
}

// startWithout starts Sluice without an API server, and checks its state.
func startWithout(t *testing.T, kubeconfig string) *harness.Sluice {
	t.Helper()
	late := harness.Start(t, harness.Setup{
		Static: static, NotReady: true, Env: []string{"KUBECONFIG=" + kubeconfig, "POD_NAMESPACE=sluice"},
	})
	pending := []string{"kubernetes", "kubernetescrd", "kubernetesendpoints"}
	late.Until("not ready, and why", func(r harness.Readiness) bool {
		var found []string
		for _, one := range r.Providers {
			if one.State == "pending" || one.State == "timed out" {
				found = append(found, one.Name)
			}
		}
		slices.Sort(found)
		return r.Status == http.StatusServiceUnavailable && slices.Equal(found, pending)
	})
	return late
}

// readiness watches /ready.
type readiness struct{ end func() }

// watchReady polls /ready, and fails the test whenever the status is not 200.
func watchReady(t *testing.T, g *gate) readiness {
	t.Helper()
	client := harness.NewClient(t, harness.H1, g.Addr("traefik"), "any.test", nil)
	done := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			answer, err := client.Try(client.Request(http.MethodGet, "/ready", nil))
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("/ready: %v %+v: %s", err, answer.Response, answer.Text)
				return
			}
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	})
	w := readiness{end: sync.OnceFunc(func() { close(done); busy.Wait() })}
	t.Cleanup(w.end)
	return w
}

// work returns the counters of what Sluice has done about the objects of its cluster, one a line: how many tables it
// has made, and how many translations changed anything.
func (g *gate) work() string {
	g.t.Helper()
	client := harness.NewClient(g.t, harness.H1, g.Addr("traefik"), "any.test", nil)
	var kept strings.Builder
	for line := range strings.Lines(client.Get("/metrics").Text) {
		if strings.HasPrefix(line, "sluice_config_generation ") || strings.HasPrefix(line, `sluice_provider_pushes_total{`) &&
			!strings.Contains(line, `kind="EndpointSlice"`) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// spreads waits until a host is answered by so many pods.
func (g *gate) spreads(host string, count int) {
	g.t.Helper()
	pods := map[string]bool{}
	until(g.t, func() bool {
		clear(pods)
		for range 2 * count {
			pods[g.ask(host+"/")] = true
		}
		return len(pods) == count
	}, func() string { return fmt.Sprintf("%s is answered by %v, want %d pods", host, pods, count) })
}
