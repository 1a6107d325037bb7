package soak

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// idleFiles and idleGoroutines are what Sluice may keep of idle connections to the endpoints, and idleWorkers are the
	// goroutines that each of the three entrypoints for HTTP keeps for connections.
	idleFiles, idleGoroutines, idleWorkers = 40, 60, 3 * 64
	// samplesOfRun is how many samples a run has.
	samplesOfRun = 240
)

// sample is what the process has at a time.
type sample struct {
	at         time.Duration
	memory     int64 // resident, in bytes
	files      int64
	goroutines int64
	// latency is the 99th percentile of the exchanges with small messages since the last sample.
	latency time.Duration
}

var goroutines = regexp.MustCompile(`(?m)^go_goroutines ([0-9]+)`)

// sample takes one, without its time.
func (w *world) sample(t *testing.T) sample {
	t.Helper()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	memory, _ := w.sluice.Memory()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.sluice.PID()))
	if err != nil {
		t.Error(err)
	}
	management := w.sluice.Management()
	response, err := management.Try(management.Request(http.MethodGet, "/metrics", nil))
	found := goroutines.FindStringSubmatch(response.Text)
	if err != nil || found == nil {
		t.Errorf("/metrics has no go_goroutines: %v", err)
		return sample{}
	}
	running, _ := strconv.ParseInt(found[1], 10, 64)
	return sample{memory: memory, files: int64(len(files)), goroutines: running}
}

// follow takes samples until ctx ends.
func (w *world) follow(ctx context.Context, t *testing.T, long time.Duration) []sample {
	t.Helper()
	began := time.Now()
	ticker := time.NewTicker(long / samplesOfRun)
	defer ticker.Stop()
	var samples []sample
	for {
		select {
		case <-ctx.Done():
			return samples
		case <-ticker.C:
			one := w.sample(t)
			one.at, one.latency = time.Since(began), w.latencies.Percentile(99)
			w.latencies.Reset()
			samples = append(samples, one)
		}
	}
}

// judge compares the last quarter of a run with its second one; the first one is for caches and pools to fill.
func judge(t *testing.T, samples []sample) {
	t.Helper()
	quarter := len(samples) / 4
	early, late := samples[quarter:2*quarter], samples[3*quarter:]
	for _, one := range []struct {
		what  string
		of    func(sample) int64
		slack int64
	}{
		{"resident memory", func(s sample) int64 { return s.memory }, 4 << 20},
		{"descriptors", func(s sample) int64 { return s.files }, 5},
		{"goroutines", func(s sample) int64 { return s.goroutines }, 10},
	} {
		before, after := median(early, one.of), median(late, one.of)
		if after > before+before/20+one.slack {
			t.Errorf("%s grew from %d to %d", one.what, before, after)
		}
	}
}

func median(samples []sample, of func(sample) int64) int64 {
	sorted := slices.SortedFunc(slices.Values(samples), func(a, b sample) int { return cmp.Compare(of(a), of(b)) })
	return of(sorted[len(sorted)/2])
}

// outcome is what happened in a run.
type outcome struct {
	long                      time.Duration
	changes, upgrades, orders int
	// hostile are the connections of hostile clients.
	hostile int64
	samples []sample
	counts  []*count
}

// report logs what happened, and writes it with twelve of the samples to TEST_SOAK_OUT.
func (o *outcome) report(t *testing.T) {
	t.Helper()
	samples, counts := o.samples, o.counts
	var page strings.Builder
	total := int64(0)
	for _, one := range counts {
		total += one.exchanges.Load()
	}
	fmt.Fprintf(&page, "%v, %d configurations, %d upgrades, %d ACME orders, %d hostile connections, "+
		"%d exchanges\n\n",
		o.long, o.changes, o.upgrades, o.orders, o.hostile, total)
	page.WriteString("| load | exchanges |\n|---|---|\n")
	for _, one := range counts {
		fmt.Fprintf(&page, "| %s | %d |\n", one.name, one.exchanges.Load())
	}
	page.WriteString("\n| time | resident MiB | descriptors | goroutines | p99 |\n|---|---|---|---|---|\n")
	step := max(1, len(samples)/12)
	for i := step - 1; i < len(samples); i += step {
		part := samples[i+1-step : i+1]
		fmt.Fprintf(&page, "| %v | %.1f | %d | %d | %.1f ms |\n", samples[i].at.Round(time.Second),
			float64(median(part, func(s sample) int64 { return s.memory }))/(1<<20),
			median(part, func(s sample) int64 { return s.files }),
			median(part, func(s sample) int64 { return s.goroutines }),
			float64(median(part, func(s sample) int64 { return int64(s.latency) }))/float64(time.Millisecond))
	}
	t.Log(page.String())
	if out := os.Getenv("TEST_SOAK_OUT"); out != "" {
		if err := os.WriteFile(out, []byte(page.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
	if total < int64(len(counts)) || len(counts) == 0 {
		t.Error("there was no load")
	}
	for _, one := range counts {
		if one.exchanges.Load() == 0 {
			t.Errorf("%s: not one exchange succeeded", one.name)
		}
	}
}
