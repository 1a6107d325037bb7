package kubernetes

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// rollouts is how often every Deployment is rolled at least, underway how many requests there are meanwhile at least:
	// rollouts go on until both is so.
	rollouts = 3
	underway = 100_000
	// crewSize is how many pods a Deployment has.
	crewSize = 4
)

// crew is a Deployment whose pods end in one way, with its Service and its IngressRoute for the host NAME.test.
type crew struct {
	// name is also that of the host. stop is how its pods end.
	name, stop string
	// grace is how many seconds they have for it: the polite ones serve for 3 s, as a preStop hook does, the hanging ones
	// do nothing until they are killed.
	grace int
	// options are of the route's service, as in a manifest.
	options string
	// postsFail is set if requests that must not be retried may fail after they were sent to the pod.
	postsFail bool
}

// crews are all ways to end, the last one with and without the option that it needs.
func crews() []crew {
	return []crew{
		{name: "polite", stop: "polite", grace: 10},
		{name: "close", stop: "close", grace: 10, postsFail: true},
		{name: "exit", stop: "exit", grace: 10, postsFail: true},
		{name: "hang", stop: "hang", grace: 3, postsFail: true},
		{name: "hang-timed", stop: "hang", grace: 3, options: ", retry: {perTryTimeout: 1s}", postsFail: true},
	}
}

// manifest is a crew's Deployment. The round makes its pods others than those of the round before.
func (c crew) manifest(round int) string {
	return strings.NewReplacer("NAME", c.name, "STOP", c.stop, "GRACE", fmt.Sprint(c.grace), "ROUND", fmt.Sprint(round),
		"SIZE", fmt.Sprint(crewSize)).Replace(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: roll}
spec:
  replicas: SIZE
  selector: {matchLabels: {app: NAME}}
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata:
      labels: {app: NAME}
      annotations: {test.sluice.dev/on-stop: STOP, test.sluice.dev/drain: 3s, test.sluice.dev/ready-after: 100ms,
        round: "ROUND"}
    spec:
      terminationGracePeriodSeconds: GRACE
      containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]
`)
}

// service is a crew's Service and its route.
func (c crew) service() string {
	return strings.ReplaceAll(`
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: roll}
spec: {selector: {app: NAME}, ports: [{port: 80, targetPort: 8080}]}
`, "NAME", c.name) + route("sluice.dev", "roll/"+c.name, c.name+".test", "[{name: "+c.name+", port: 80"+c.options+"}]")
}

// roll replaces all pods of all crews at the same time.
func roll(c *cluster.Cluster, round int) {
	var manifests []string
	for _, one := range crews() {
		manifests = append(manifests, one.manifest(round))
	}
	c.Apply(manifests...)
	for _, one := range crews() {
		c.Deployed("roll/" + one.name)
	}
}

// podsAreRolled rolls Deployments whose pods end politely and rudely, repeatedly, under GETs and POSTs. No GET fails,
// and no request of which no pod has received a byte. A POST in a pod that ended is lost, since it must not be retried;
// these are counted, and each has a line in the access log that shows that it had been sent.
func podsAreRolled(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("roll"))
	for _, one := range crews() {
		c.Apply(one.service())
	}
	roll(c, 0)
	g := openLogging(t, c)
	for _, one := range crews() {
		g.serves(one.name + ".test")
		c.Endpoints("roll/"+one.name, crewSize)
	}
	generation := g.Readiness().Generation
	began := time.Now()
	v := fire(t, g)
	round := 0
	for ; (round < rollouts || v.requests() < underway) && !t.Failed(); round++ {
		roll(c, round+1)
	}
	took := time.Since(began)
	v.stop()
	if after := g.Readiness().Generation; after != generation {
		t.Errorf("pods made tables %d to %d", generation, after)
	}
	t.Logf("%d rollouts of %d pods and %d requests in %v", round, crewSize*len(crews()), v.requests(),
		took.Round(time.Millisecond))
	metrics := harness.NewClient(t, harness.H1, g.Addr("traefik"), "any.test", nil).Get("/metrics").Text
	for _, one := range crews() {
		v.judge(g, one, metrics)
	}
}

// judge compares the results of a crew's clients with Sluice's metrics, and prints them.
func (v *volley) judge(g *gate, of crew, metrics string) {
	v.t.Helper()
	get, post := v.scores[of.name+" "+http.MethodGet], v.scores[of.name+" "+http.MethodPost]
	until(v.t, func() bool { return len(g.failures(of.name)) >= len(get.failed)+len(post.failed) }, func() string {
		return fmt.Sprintf("%s: clients saw %q and %q, the log says %q", of.name, get.failed, post.failed,
			g.failures(of.name))
	})
	lines := g.failures(of.name)
	reasons := map[string]int{}
	for _, line := range lines {
		reasons[line]++
		if !strings.Contains(line, "POST") || !strings.Contains(line, "(request sent)") {
			v.t.Errorf("%s: a request fails that should not: %s", of.name, line)
		}
	}
	if failed := get.failed; len(failed) > 0 {
		v.t.Errorf("%s: %d of %d GETs fail, the first: %s", of.name, len(failed), get.sent, failed[0])
	}
	if failed := post.failed; len(failed) > 0 && !of.postsFail {
		v.t.Errorf("%s: %d of %d POSTs fail, the first: %s", of.name, len(failed), post.sent, failed[0])
	}
	if len(lines) != len(get.failed)+len(post.failed) {
		v.t.Errorf("%s: %d requests failed, and %d lines of the log say so", of.name, len(get.failed)+len(post.failed),
			len(lines))
	}
	v.t.Logf("%-10s GET  %s", of.name, get)
	v.t.Logf("%-10s POST %s", of.name, post)
	for reason, count := range reasons {
		v.t.Logf("%-10s %d x %s", of.name, count, reason)
	}
	for _, counter := range []string{"retries", "retries_exhausted", "ejections"} {
		sample := regexp.MustCompile(`sluice_service_` + counter + `_total\{protocol="http",service="roll-` + of.name +
			`-[0-9a-f]+@kubernetescrd"\} (\d+)`)
		if match := sample.FindStringSubmatch(metrics); match != nil {
			v.t.Logf("%-10s %s %s", of.name, match[1], counter)
		}
	}
}

// String formats the number of requests and their results.
func (s *score) String() string {
	return fmt.Sprintf("%6d sent, %d failed, the slowest took %v", s.sent, len(s.failed),
		s.slowest.Round(time.Millisecond))
}
