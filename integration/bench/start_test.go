package bench

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// mostToCompile is what compiling all routers may take.
const mostToCompile = 500 * time.Millisecond

// compilation returns how long the last compilation took, as the metrics report it.
func compilation(tb testing.TB, s *harness.Sluice) time.Duration {
	tb.Helper()
	text := harness.NewClient(tb, harness.H1, s.Addr("traefik"), "localhost", nil).Get("/metrics").Text
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "sluice_config_compile_seconds "); ok {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				tb.Fatal(err)
			}
			return time.Duration(seconds * float64(time.Second))
		}
	}
	tb.Fatal("there is no metric of the compilation")
	return 0
}

// BenchmarkStart starts a Sluice on the file. What it reports is of the process: the time until /ready answers 200, the
// CPU time and the memory until it is idle, and what compiling took of that. It fails when even the fastest compilation
// is beyond the bound, since other processes only ever add to it.
func BenchmarkStart(b *testing.B) {
	d := &declaration{files: 1, endpoint: backend(b)}
	var ready, compiled, used time.Duration
	least := time.Hour
	var kept, peak int64
	starts := 0
	for b.Loop() {
		begun := time.Now()
		s := start(b, d)
		ready += time.Since(begun)
		took := compilation(b, s)
		compiled, least = compiled+took, min(least, took)
		used += idle(b, s.PID())
		now, most := s.Memory()
		kept, peak = kept+now, peak+most
		s.Stop()
		starts++
	}
	per := func(total time.Duration) float64 { return float64(total) / float64(time.Millisecond) / float64(starts) }
	b.ReportMetric(per(ready), "ms/ready")
	b.ReportMetric(per(compiled), "ms/compiled")
	b.ReportMetric(per(used), "cpu-ms/start")
	b.ReportMetric(float64(kept)/float64(starts)/(1<<20), "MiB/idle")
	b.ReportMetric(float64(peak)/float64(starts)/(1<<20), "MiB/peak")
	b.ReportMetric(0, "ns/op")
	if least > mostToCompile {
		b.Errorf("compiling %d routers took %v, more than %v", routers, least, mostToCompile)
	}
}
