package kubernetes

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// static is what Sluice is started with.
const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
metrics: {prometheus: {entryPoint: traefik}}
providers:
  kubernetesCRD: {endpoint: "${ENDPOINT}", certAuthFilePath: "${CA}", token: "${TOKEN}"}
`

// subject is a running Sluice that is measured in a world.
type subject struct {
	*harness.Sluice

	world    *world
	informer *informer
	web      string
	results  *results
	size     int
}

// start starts Sluice and returns it with the time from before the process began until the last route served.
func start(tb testing.TB, w *world, r *results) (s *subject, served time.Duration) {
	tb.Helper()
	begun := time.Now()
	s = startWith(tb, w, r, static)
	p := s.dial(tb)
	defer p.close()
	last := len(w.slices) - 1
	when, err := p.until(tb.Context(), host(last), path, colourIs(w.colours[last]))
	if err != nil {
		tb.Fatal(err)
	}
	served = when.Sub(begun)
	s.check(tb) // None of the others may be missing either.
	return s, served
}

// startWith starts Sluice with a static configuration, and does not wait for it.
func startWith(tb testing.TB, w *world, r *results, static string) *subject {
	tb.Helper()
	sluice := harness.Start(tb, harness.Setup{Static: static, NotReady: true, Vars: map[string]string{
		"ENDPOINT": w.Endpoint, "CA": w.CAFile, "TOKEN": w.Token,
	}})
	return &subject{Sluice: sluice, world: w, web: sluice.Addr("web"), results: r, size: len(w.slices)}
}

// dial opens a connection to Sluice.
func (s *subject) dial(tb testing.TB) *probe {
	tb.Helper()
	p, err := dial(tb.Context(), s.web)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// settle waits until the control plane and Sluice have nothing to do.
func (s *subject) settle(tb testing.TB) {
	tb.Helper()
	quiet(tb, s.world.PID(), quietControl)
	quiet(tb, s.PID(), quietSluice)
}

// note keeps a figure, and what it is made of.
func (s *subject) note(key string, value float64, before, after account, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if line != "" && after.when.After(before.when) {
		line += "; " + shares(before, after)
	}
	s.results.note(s.size, key, value, others(before, after), line)
}

// measureStart starts Sluice some times, and returns the last one.
func measureStart(tb testing.TB, w *world, r *results, rounds int) *subject {
	tb.Helper()
	for round := 1; ; round++ {
		quiet(tb, w.PID(), quietControl)
		before := account{when: time.Now(), control: harness.CPU(tb, w.PID()), busy: busy(tb)}
		before.ours = before.control + harness.CPU(tb, os.Getpid())
		s, served := start(tb, w, r)
		after := s.account(tb)
		used := harness.CPU(tb, s.PID())
		s.settle(tb)
		now, peak := s.Memory()
		s.note("start", milliseconds(served), before, after,
			"start %d: the last route served after %v, then 100 others did; %v of CPU until then; %d MiB resident, at most "+
				"%d MiB", //
			round, served.Round(time.Millisecond), used.Round(time.Millisecond), now>>20, peak>>20)
		s.note("rss", float64(now)/1e6, before, before, "")
		if round == rounds {
			return s
		}
		s.Stop()
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
