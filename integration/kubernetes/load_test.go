package kubernetes

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// A load is clients of one connection each, which send a request, read the answer, and wait for their next turn.
const (
	clients = 8
	turn    = 15 * time.Millisecond
	// longestWait is how long a pod waits with some of the answers.
	longestWait = 150 * time.Millisecond
)

// load sends requests to Sluice, none of which may fail, until it is stopped.
type load struct {
	t     testing.TB
	done  chan struct{}
	stop  func()
	sent  atomic.Int64
	fails atomic.Int64
	// stalled returns for how long the machine stood still at most.
	stalled func() time.Duration

	mu   sync.Mutex
	pods map[string]int
	last map[string]time.Time // when the last request was sent that a pod has answered
}

// press puts a host under load. It ends with the test, before Sluice does.
func press(t testing.TB, g *gate, host string) *load {
	t.Helper()
	l := &load{
		t: t, done: make(chan struct{}), stalled: harness.Stalls(t), pods: map[string]int{}, last: map[string]time.Time{},
	}
	var busy sync.WaitGroup
	for i := range clients {
		client := harness.NewClient(t, []harness.Protocol{harness.H1, harness.H2C}[i%2], g.Addr("web"), host, nil)
		busy.Go(func() { l.run(client, i) })
	}
	l.stop = sync.OnceFunc(func() { close(l.done); busy.Wait() })
	t.Cleanup(l.stop)
	return l
}

// run is one client. Every other request has a body and must not be retried.
func (l *load) run(client *harness.Client, number int) {
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for i := 0; ; i++ {
		request := client.Request(http.MethodGet, "/", nil)
		if i%2 == 0 {
			request = client.Request(http.MethodPost, "/?size=2000", strings.NewReader("a body"))
		}
		if i%10 == number {
			request.URL.RawQuery = "wait=" + longestWait.String()
		}
		began := time.Now()
		answer, err := client.Try(request)
		l.take(began, answer, err)
		select {
		case <-l.done:
			return
		case <-ticker.C:
		}
	}
}

// take looks at an answer.
func (l *load) take(began time.Time, answer harness.Response, err error) {
	if l.t.Context().Err() != nil {
		return // The test has failed already.
	}
	l.sent.Add(1)
	if err != nil || answer.StatusCode != http.StatusOK {
		if l.fails.Add(1) <= 5 {
			failure := fmt.Sprint(err)
			if err == nil {
				failure = fmt.Sprintf("status %d: %s", answer.StatusCode, answer.Text)
			}
			l.t.Errorf("%s: a request under load fails: %s", time.Now().Format(time.StampMicro), failure)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	pod := answer.Header.Get("X-Pod")
	l.pods[pod]++
	if l.last[pod].Before(began) {
		l.last[pod] = began
	}
}

// answered is how many responses drain would return.
func (l *load) answered() (sum int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, count := range l.pods {
		sum += count
	}
	return sum
}

// drain returns the number of responses of each pod since the last call.
func (l *load) drain() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	pods := l.pods
	l.pods = map[string]int{}
	return pods
}

// spread waits until answers come from exactly so many pods, and returns how many come from each. These are so many
// that no pod is without one by chance, also while the machine has much else to do.
func (l *load) spread(count int) (last map[string]int) {
	l.t.Helper()
	window := time.NewTicker(20 * turn) // Some 150 requests, each of which takes the next pod.
	defer window.Stop()
	l.drain()
	until(l.t, func() bool {
		if <-window.C; l.answered() < 10*count {
			return false
		}
		last = l.drain()
		return len(last) == count
	}, func() string {
		return fmt.Sprintf("answers come from %d pods, want %d: %v", len(last), count, last)
	})
	return last
}

// leaves is spread to pods that are not among those of before: what was on its way to these has been answered.
func (l *load) leaves(before map[string]int, count int) {
	l.t.Helper()
	var last map[string]int
	until(l.t, func() bool {
		last = l.spread(count)
		for pod := range last {
			if before[pod] > 0 {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprintf("answers come from %v, before from %v", last, before) })
}

// end stops the load and prints the result.
func (l *load) end() {
	l.t.Helper()
	l.stop()
	if failed := l.fails.Load(); failed > 0 {
		l.t.Errorf("%d of %d requests failed", failed, l.sent.Load())
	}
	l.t.Logf("%d requests", l.sent.Load())
}

// polite is a Deployment of one pod that goes on for a while when it is deleted, with its Service and its IngressRoute
// for the host NAME.test. It is given as namespace/name; the namespace is to be there.
func polite(path string) string {
	namespace, name, _ := strings.Cut(path, "/")
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: NAME}, annotations: {test.sluice.dev/drain: 3s, test.sluice.dev/ready-after: 50ms}}
    spec:
      terminationGracePeriodSeconds: 10
      containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  selector: {app: NAME}
  ports: [{name: http, port: 80, targetPort: 8080}]
`) + route("traefik.io", path, name+".test", "[{name: "+name+", port: 80}]")
}

// lingering is a polite Deployment whose pods go on for most of their grace period, so that a test meets them while
// they terminate also on a machine that has much else to do.
func lingering(path string) string {
	return strings.Replace(polite(path), "test.sluice.dev/drain: 3s", "test.sluice.dev/drain: 6s", 1)
}

// TestUnderLoad does what happens to clusters while requests pass, none of which may fail.
func TestUnderLoad(t *testing.T) {
	c := prepare(t)
	t.Run("pods come and go", func(t *testing.T) { podsComeAndGo(t, c.For(t)) })
	t.Run("a namespace is deleted", func(t *testing.T) { namespaceIsDeleted(t, c.For(t)) })
	t.Run("Sluice is upgraded", func(t *testing.T) { sluiceIsUpgraded(t, c.For(t)) })
	t.Run("the API server goes away", func(t *testing.T) { apiServerGoesAway(t, c.For(t)) })
	// The last one, since it leaves routes behind that lead nowhere.
	t.Run("random edits", func(t *testing.T) { randomEdits(t, c.For(t)) })
}

// podsComeAndGo scales a Deployment from 1 pod to 10 and back and rolls it three times. No request fails, and
// each pod gets its part while it is there. The table is none of all that's business.
func podsComeAndGo(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("tide"), polite("tide/tide"))
	c.Deployed("tide/tide")
	c.Endpoints("tide/tide", 1)
	g := open(t, c, static)
	g.serves("tide.test")
	generation := g.Readiness().Generation
	d := watchDepartures(t, c, "tide")
	l := press(t, g, "tide.test")

	c.Scale("tide/tide", 10)
	l.spread(10)
	for range 3 {
		before := l.drain()
		c.Rollout("tide/tide")
		c.Endpoints("tide/tide", 10)
		l.leaves(before, 10)
		for pod := range l.drain() {
			if before[pod] > 0 {
				t.Errorf("pod %s was rolled away and answers", pod)
			}
		}
	}
	c.Scale("tide/tide", 1)
	c.Endpoints("tide/tide", 1)
	l.spread(1)
	l.end()
	d.expect(l)
	if after := g.Readiness(); after.Generation != generation || len(after.Verdicts) > 0 {
		t.Errorf("pods made tables %d to %d, and the verdicts %v", generation, after.Generation, after.Verdicts)
	}
	for line := range strings.Lines(g.Log.String()) {
		// Probes before the first table find no router.
		if strings.Contains(line, "failed") && strings.Contains(line, "subsystem=requests") &&
			!strings.Contains(line, "code=no_router") {
			t.Errorf("the log speaks of failed requests: %s", line)
		}
	}
}

// serves waits until a host is answered by some pod.
func (g *gate) serves(host string) {
	g.t.Helper()
	var got string
	until(g.t, func() bool { got = g.ask(host + "/"); return strings.HasPrefix(got, "200 ") }, func() string {
		return host + " is answered by " + got + "\n" + g.Log.String()
	})
}
