package overload

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// patience is how long clients wait for a response.
	patience = 2 * time.Second
	// calm is how long the capacity is measured, and the normal latency: overload is looked for from ten seconds after the
	// start on.
	calm = 6 * time.Second
	// answering is how long the endpoint takes.
	answering = 20 * time.Millisecond
	// compressed is the size of a body that the proxy compresses, in bytes: a few milliseconds of CPU time.
	compressed = 256 << 10
)

// compressing has the proxy itself be what is short: it compresses each response.
const compressing = `
http:
  routers:
    measured: {rule: "Path(` + "`/measured`" + `)", service: text, middlewares: [compress], priorityClass: critical}
    important: {rule: "Path(` + "`/important`" + `)", service: text, middlewares: [compress], priorityClass: high}
    other: {rule: "Path(` + "`/other`" + `)", service: text, middlewares: [compress], priorityClass: low}
  middlewares:
    compress: {compress: {encodings: [gzip]}}
  services:
    text: {loadBalancer: {servers: [{url: "${BACKEND}"}]}}
`

// processed is what became of a load of three times what the CPU of a proxy can do.
type processed struct {
	// capacity is how many responses a second it compresses.
	capacity float64
	duration time.Duration
	// goodput is the part of the capacity that was used for responses that clients waited for.
	goodput           float64
	important, others map[int]int
	// loaded and normal are the times within which 99 % of the important responses came with and without the others.
	loaded, normal time.Duration
	// recovery is how long requests failed, or took longer than twice the normal time, after the load.
	recovery time.Duration
}

func (p *processed) String() string {
	return fmt.Sprintf("%v of three times %.0f requests a second: goodput %.1f %% of the capacity; others %v; "+
		"important %v, 99 %% within %v, %v without load; recovered within %v", p.duration, p.capacity, 100*p.goodput,
		p.others, p.important, p.loaded, p.normal, p.recovery)
}

// compressors have the connections for requests of three kinds.
type compressors struct {
	measured, high, low *harness.Client
}

func newCompressors(t testing.TB, address string) *compressors {
	t.Helper()
	client := func() *harness.Client {
		c := harness.NewClient(t, harness.H1, address, "any.test", nil)
		c.Transport.MaxIdleConnsPerHost = 8192
		c.Timeout = patience
		return c
	}
	return &compressors{client(), client(), client()}
}

// capacity returns how many responses a second a proxy compresses for 32 clients, after a second.
func (c *compressors) capacity(duration time.Duration) float64 {
	var workers sync.WaitGroup
	var done atomic.Int64
	began := time.Now()
	for range 32 {
		workers.Go(func() {
			for time.Since(began) < duration {
				if statusOf(c.measured, get(c.measured, "/measured")) == http.StatusOK && time.Since(began) > time.Second {
					done.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return float64(done.Load()) / (time.Since(began) - time.Second).Seconds()
}

// overload measures the capacity, sends a tenth of it as important requests, and then three times the capacity in all.
func (c *compressors) overload(duration time.Duration) *processed {
	p := &processed{capacity: c.capacity(calm), duration: duration}
	few := max(1, int(p.capacity/10))
	alone := &offer{path: "/important", rate: few}
	alone.run(c.high, calm)
	p.normal = percentile(alone.took, 0.99)
	others, first := &offer{path: "/other", rate: int(3*p.capacity) - few}, &offer{path: "/important", rate: few}
	var load sync.WaitGroup
	load.Go(func() { others.run(c.low, duration) })
	first.run(c.high, duration)
	load.Wait()
	p.goodput = float64(others.status[http.StatusOK]+first.status[http.StatusOK]) / p.capacity / duration.Seconds()
	p.others, p.important, p.loaded = maps.Clone(others.status), maps.Clone(first.status), percentile(first.took, 0.99)
	p.recovery = c.recovery(p.normal)
	return p
}

// recovery returns how long it takes until ten requests in a row succeed in twice the normal time.
func (c *compressors) recovery(normal time.Duration) time.Duration {
	began := time.Now()
	var since time.Duration
	for good := 0; good < 10 && since < timeout; {
		sent := time.Now()
		if statusOf(c.low, get(c.low, "/other")) == http.StatusOK && time.Since(sent) <= 2*normal {
			good++
			continue
		}
		good, since = 0, time.Since(began)
	}
	return since.Round(time.Millisecond)
}

// get returns a request for a response that is compressed.
func get(client *harness.Client, path string) *http.Request {
	request := client.Request(http.MethodGet, path, nil)
	request.Header.Set("Accept-Encoding", "gzip")
	return request
}

// startText starts an endpoint with a body that can be compressed, and returns its URL.
func startText(t testing.TB) string {
	t.Helper()
	random, text := rand.New(rand.NewPCG(1, 2)), new(strings.Builder) //nolint:gosec // The same each time.
	for text.Len() < compressed {
		fmt.Fprintf(text, "word%d ", random.IntN(4096))
	}
	content := []byte(text.String())
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(answering)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(content)
	}))
	t.Cleanup(backend.Close)
	return backend.URL
}

// processors are that of a proxy, and those of this process.
type processors struct{ proxy, own unix.CPUSet }

// divideProcessors gives the first one to the proxy, until the test ends.
func divideProcessors(t testing.TB) *processors {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil || all.Count() < 2 {
		t.Skipf("missing tool: a second processor: %v", err)
	}
	p := &processors{own: all}
	for i := range len(all) * 64 {
		if all.IsSet(i) {
			p.proxy.Set(i)
			p.own.Clear(i)
			break
		}
	}
	t.Cleanup(func() { pin(t, &all) })
	pin(t, &p.own)
	return p
}

// start has a function start a process on the processor of the proxy.
func (p *processors) start(t testing.TB, start func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &p.proxy); err != nil {
		t.Fatal(err)
	}
	start()
	if err := unix.SchedSetaffinity(0, &p.own); err != nil {
		t.Fatal(err)
	}
}

// pin has all threads of this process use processors.
func pin(t testing.TB, processors *unix.CPUSet) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err == nil {
			err = unix.SchedSetaffinity(id, processors)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			t.Fatal(err)
		}
	}
}

// BenchmarkProcessor offers three times what the processor of a proxy can do, for TEST_OVERLOAD (6s). With TEST_PEERS,
// nginx, haproxy and traefik get it as well, first as they are, and then with a limit of requests at a time.
func BenchmarkProcessor(b *testing.B) {
	duration := loadTime(b)
	backend, processors := startText(b), divideProcessors(b)
	b.Run("sluice", func(b *testing.B) {
		var s *harness.Sluice
		processors.start(b, func() {
			s = harness.Start(b, harness.Setup{
				Static: static, Dynamic: map[string]string{"compressing.yaml": compressing},
				Vars: map[string]string{"BACKEND": backend},
				Args: []string{"--overload.cpu.schedulerlatency=6ms", "--overload.interval=50ms"},
			})
		})
		newCompressors(b, s.Addr("web")).measure(b, duration)
	})
	if os.Getenv("TEST_PEERS") == "" {
		return
	}
	for _, one := range compressingPeers() {
		b.Run(one.name, func(b *testing.B) {
			var address string
			processors.start(b, func() { address = one.start(b, backend) })
			newCompressors(b, address).measure(b, duration)
		})
	}
}

// measure reports the goodput, the important requests that failed, and how much longer 99 % of the others took.
func (c *compressors) measure(b *testing.B, duration time.Duration) {
	b.Helper()
	for b.Loop() {
		got := c.overload(duration)
		b.Log(got)
		failed := -got.important[http.StatusOK]
		for _, count := range got.important {
			failed += count
		}
		b.ReportMetric(100*got.goodput, "goodput-%")
		b.ReportMetric(float64(failed), "important-failed")
		b.ReportMetric(float64(got.loaded)/float64(got.normal), "p99-ratio")
		b.ReportMetric(got.recovery.Seconds(), "recovery-s")
	}
}
