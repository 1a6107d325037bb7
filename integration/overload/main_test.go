package overload

import (
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// timeout bounds what must happen.
const timeout = 30 * time.Second

const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
metrics: {prometheus: {}}
providers: {file: {directory: "${DYNAMIC}"}}
`

// pinger requests /ping all the time.
type pinger struct {
	t       testing.TB
	stopped chan struct{}
	running sync.WaitGroup
	took    []time.Duration
}

// ping begins. The test fails for each response that does not come within the timeout, or is not 200.
func ping(t testing.TB, s *harness.Sluice) *pinger {
	t.Helper()
	p := &pinger{t: t, stopped: make(chan struct{})}
	client := harness.NewClient(t, harness.H1, s.Addr("traefik"), "any.test", nil)
	client.Timeout = timeout
	p.running.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			began := time.Now()
			if code := statusOf(client, client.Request(http.MethodGet, "/ping", nil)); code != http.StatusOK {
				t.Errorf("/ping: status %d after %v", code, time.Since(began))
				return
			}
			p.took = append(p.took, time.Since(began))
			select {
			case <-ticker.C:
			case <-p.stopped:
				return
			}
		}
	})
	return p
}

// stop ends it, and writes how long the answers took.
func (p *pinger) stop() {
	p.t.Helper()
	close(p.stopped)
	p.running.Wait()
	if len(p.took) > 0 {
		p.t.Logf("/ping: %d answers, 99 %% within %v, all within %v", len(p.took), percentile(p.took, 0.99), slices.Max(p.took))
	}
}

// percentile returns the time within which a part of the answers came; 0 without any.
func percentile(took []time.Duration, part float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[int(part*float64(len(sorted)-1))].Round(100 * time.Microsecond)
}

// statusOf sends a request, and returns the status of the response; 0 without one.
func statusOf(client *harness.Client, request *http.Request) int {
	got, err := client.Try(request)
	if err != nil {
		return 0
	}
	return got.StatusCode
}
