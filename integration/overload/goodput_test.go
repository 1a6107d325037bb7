package overload

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// slots is how many requests the endpoint serves at a time, and service how long one takes: its capacity is 200 a
	// second.
	slots   = 40
	service = 200 * time.Millisecond
	// important is how many requests of the class high come in a second, and offered how many in all: three times the
	// capacity.
	important = 40
	offered   = 600
	// quiet is the goodput of an endpoint by itself on a quiet machine.
	quiet = 0.99
	// judged is from which duration on the latency of important requests is judged.
	judged = time.Minute
)

// classes leaves 11 of the 40 slots to important requests. The pool of the others has a queue, so that a slot that has
// become free is taken at once.
const classes = `
http:
  routers:
    important: {rule: "Path(` + "`/important`" + `)", service: important, priorityClass: high}
    other: {rule: "Path(` + "`/other`" + `)", service: other, priorityClass: low}
  services:
    important:
      loadBalancer:
        servers: [{url: "${BACKEND}"}]
        limits: {maxConnections: 40, maxPending: 400, pendingTimeout: 20s}
    other:
      loadBalancer:
        servers: [{url: "${BACKEND}"}]
        limits: {maxConnections: 29, maxPending: 29, pendingTimeout: 1s}
`

// capacity is an endpoint that serves a number of requests at a time, each of which takes a while. Further ones wait.
type capacity struct {
	free chan struct{}
	// busy is how long slots have been taken by requests whose response has been written, in nanoseconds.
	busy atomic.Int64
}

func (c *capacity) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case c.free <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	began := time.Now()
	defer func() { <-c.free }()
	timer := time.NewTimer(service)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return // It was work in vain.
	}
	if _, err := io.WriteString(w, "done"); err == nil {
		c.busy.Add(int64(time.Since(began)))
	}
}

// offer is a load at a rate that does not depend on the answers.
type offer struct {
	path string
	rate int

	mutex   sync.Mutex
	status  map[int]int
	took    []time.Duration // of those with 200
	running sync.WaitGroup
}

// run sends requests for a while, and waits for the answers.
func (o *offer) run(client *harness.Client, duration time.Duration) {
	o.status = map[int]int{}
	interval := time.Second / time.Duration(o.rate)
	began := time.Now()
	for i := range int(duration / interval) {
		if wait := time.Until(began.Add(time.Duration(i) * interval)); wait > 0 {
			timer := time.NewTimer(wait)
			<-timer.C
		}
		o.running.Go(func() {
			began := time.Now()
			code := statusOf(client, get(client, o.path))
			took := time.Since(began)
			o.mutex.Lock()
			defer o.mutex.Unlock()
			o.status[code]++
			if code == http.StatusOK {
				o.took = append(o.took, took)
			}
		})
	}
	o.running.Wait()
}

// loadTime returns how long the load goes on.
func loadTime(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv("TEST_OVERLOAD")
	if text == "" {
		return 6 * time.Second
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration < time.Second {
		t.Fatalf("TEST_OVERLOAD=%q is no duration of a second or more", text)
	}
	return duration
}

// outcome is what became of a load.
type outcome struct {
	duration time.Duration
	// goodput is the part of the capacity that was used for requests whose response has been written.
	goodput float64
	others  map[int]int
	// important are the statuses of the important requests, loaded and normal the times within which 99 % of those were
	// answered with 200 with and without the others.
	important      map[int]int
	loaded, normal time.Duration
}

// String returns the numbers as one line.
func (o *outcome) String() string {
	return fmt.Sprintf("%v of %d requests a second: goodput %.1f %% of the capacity; others %v; "+
		"important %v, 99 %% within %v, %v without load", o.duration, offered, 100*o.goodput, o.others, o.important,
		o.loaded, o.normal)
}

// clients have the connections for important and other requests.
type clients struct{ high, low *harness.Client }

func newClients(t *testing.T, address string) clients {
	t.Helper()
	c := clients{
		high: harness.NewClient(t, harness.H1, address, "any.test", nil),
		low:  harness.NewClient(t, harness.H1, address, "any.test", nil),
	}
	c.high.Transport.MaxIdleConnsPerHost, c.low.Transport.MaxIdleConnsPerHost = 2*offered, 2*offered
	return c
}

// overload sends important requests alone for a while, and then three times the requests that an endpoint serves.
func (c clients) overload(endpoint *capacity, duration time.Duration) *outcome {
	alone := &offer{path: "/important", rate: important}
	alone.run(c.high, duration/3)
	before, began := endpoint.busy.Load(), time.Now()
	others, first := &offer{path: "/other", rate: offered - important}, &offer{path: "/important", rate: important}
	var load sync.WaitGroup
	load.Go(func() { others.run(c.low, duration) })
	first.run(c.high, duration)
	goodput := float64(endpoint.busy.Load()-before) / float64(time.Since(began)) / slots
	load.Wait()
	return &outcome{
		duration: duration, goodput: goodput, others: others.status, important: first.status,
		loaded: percentile(first.took, 0.99), normal: percentile(alone.took, 0.99),
	}
}

// TestGoodput offers three times the requests that an endpoint serves. It goes on to serve nearly all that it can,
// important requests are not refused, and when the load is over, nothing is. TEST_OVERLOAD (6s) is how long the load
// goes on; with TEST_PEERS, nginx and haproxy get it as well.
func TestGoodput(t *testing.T) {
	t.Parallel()
	duration := loadTime(t)
	endpoint, backend := startEndpoint(t)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"classes.yaml": classes}, Vars: map[string]string{"BACKEND": backend},
		Args: []string{"--overload.cpu.schedulerlatency=100ms", "--overload.actions.shedhigh=0"},
	})
	// Not at the same time, so that Sluice does not slow it down.
	direct := saturate(t, time.Second)
	pings, clients := ping(t, s), newClients(t, s.Addr("web"))
	got := clients.overload(endpoint, duration)
	pings.stop()
	direct = min(direct, saturate(t, time.Second))
	t.Logf("%v; goodput of an endpoint by itself %.1f %%", got, 100*direct)
	// Through Sluice a slot is taken again after two changes of processes, each of which takes this machine at least as
	// long as what is between two requests to the endpoint by itself: next to nothing on a quiet one.
	if least := 1 / (1/0.85 + 2*max(0, 1/direct-1/quiet)); got.goodput < least {
		t.Errorf("the goodput is %.1f %% of the capacity, want %.1f %%", 100*got.goodput, 100*least)
	}
	if got.others[http.StatusServiceUnavailable] == 0 {
		t.Error("no request was refused: this was no overload")
	}
	if n := got.important[http.StatusOK]; n == 0 || len(got.important) != 1 {
		t.Errorf("important requests were answered with %v", got.important)
	}
	if duration >= judged && got.loaded > got.normal*3/2 {
		t.Errorf("99 %% of the important requests were answered within %v, without load within %v", got.loaded, got.normal)
	}
	recovers(t, clients.high, "/important")
	recovers(t, clients.low, "/other")
	if os.Getenv("TEST_PEERS") != "" {
		overloadPeers(t, duration)
	}
}

// saturate has as many clients as slots send one request after another to an endpoint by itself, and returns the
// goodput. It takes the duration, and the rest of the last requests.
func saturate(t *testing.T, duration time.Duration) float64 {
	t.Helper()
	endpoint, backend := startEndpoint(t)
	client := harness.NewClient(t, harness.H1, strings.TrimPrefix(backend, "http://"), "any.test", nil)
	client.Transport.MaxIdleConnsPerHost = slots
	var running sync.WaitGroup
	var lasted atomic.Int64 // of all clients together, in nanoseconds
	for range slots {
		running.Go(func() {
			began := time.Now()
			for time.Since(began) < duration {
				_ = statusOf(client, get(client, "/"))
			}
			lasted.Add(int64(time.Since(began)))
		})
	}
	running.Wait()
	return float64(endpoint.busy.Load()) / float64(lasted.Load())
}

// startEndpoint starts an endpoint, and returns its URL with it.
func startEndpoint(t *testing.T) (endpoint *capacity, url string) {
	t.Helper()
	endpoint = &capacity{free: make(chan struct{}, slots)}
	backend := httptest.NewServer(endpoint)
	t.Cleanup(backend.Close)
	return endpoint, backend.URL
}

// recovers waits until a request succeeds, and then sends more, all of which have to succeed.
func recovers(t *testing.T, client *harness.Client, path string) {
	t.Helper()
	harness.Until(t, path+" succeeds again", func() bool { return client.Get(path).StatusCode == http.StatusOK })
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			if got := client.Get(path); got.StatusCode != http.StatusOK {
				t.Errorf("after the load %s was answered with %d", path, got.StatusCode)
			}
		})
	}
	running.Wait()
}
