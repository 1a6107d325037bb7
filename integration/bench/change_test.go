package bench

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// mostBeyondReading is what one changed router may cost beyond reading the file again.
const mostBeyondReading = 20 * time.Millisecond

// costs is what a series of pairs has cost: a changed comment and a changed router.
type costs struct {
	// comment and router are CPU times, beyond their differences.
	comment, router, beyond []time.Duration
	// served are the times from the write until the new route answered.
	served []time.Duration
}

// median returns the middle of some times, which a collection of garbage in one of them does not move.
func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// subject is a running Sluice that is measured.
type subject struct {
	*harness.Sluice
	*declaration

	generation int
}

func newSubject(tb testing.TB, files int) *subject {
	tb.Helper()
	d := &declaration{files: files, endpoint: backend(tb)}
	s := start(tb, d)
	idle(tb, s.PID())
	return &subject{Sluice: s, declaration: d, generation: int(s.Readiness().Generation)}
}

// pair changes a comment and a router, and adds what that costs. Which one comes first alternates.
func (s *subject) pair(tb testing.TB, c *costs) {
	tb.Helper()
	number := len(c.beyond)
	changed := number * reachable % routers
	var comment, router time.Duration
	if number%2 == 0 {
		comment = s.changeComment(tb, s.file(changed))
	}
	router, served := s.changeRouter(tb, changed)
	if number%2 != 0 {
		comment = s.changeComment(tb, s.file(changed))
	}
	c.comment, c.router = append(c.comment, comment), append(c.router, router)
	c.beyond, c.served = append(c.beyond, router-comment), append(c.served, served)
}

// changeComment returns the CPU time that a changed comment costs: the file is read again, and nothing comes of it.
func (s *subject) changeComment(tb testing.TB, file int) time.Duration {
	tb.Helper()
	before := idle(tb, s.PID())
	s.comment++
	s.Write(s.name(file), s.text(file))
	return idle(tb, s.PID()) - before
}

// changeRouter returns the CPU time that a changed router costs, and the time until the change served.
func (s *subject) changeRouter(tb testing.TB, router int) (used, served time.Duration) {
	tb.Helper()
	s.versions[router]++
	s.generation++
	file := s.file(router)
	text := s.text(file)
	client := harness.NewClient(tb, harness.H1, s.Addr("web"), host(router), nil)
	before := idle(tb, s.PID())
	begun := time.Now()
	s.Write(s.name(file), text)
	s.WaitLog("table activated", fmt.Sprintf("generation=%d ", s.generation))
	if status := client.Get(s.path(router)).StatusCode; status != http.StatusOK {
		tb.Fatalf("the changed router answers %d", status)
	}
	served = time.Since(begun)
	return idle(tb, s.PID()) - before, served
}

// TestOneOfManyRoutersChanges makes sure of what the benchmarks measure: a change serves, and its neighbours stay.
func TestOneOfManyRoutersChanges(t *testing.T) {
	s := newSubject(t, 100)
	c := &costs{}
	for range 2 {
		s.pair(t, c)
	}
	for _, router := range []int{7 * reachable, routers - reachable} {
		client := harness.NewClient(t, harness.H1, s.Addr("web"), host(router), nil)
		if status := client.Get(s.path(router)).StatusCode; status != http.StatusOK {
			t.Errorf("router %d, which has not changed, answers %d", router, status)
		}
	}
}

// BenchmarkChange changes a comment and a router in turns, in one file and where there are many. It fails beyond the
// bound where reading the file does not drown what is measured.
func BenchmarkChange(b *testing.B) {
	for _, files := range []int{1, 100} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			s := newSubject(b, files)
			c := &costs{}
			for b.Loop() {
				s.pair(b, c)
			}
			c.report(b)
			if cost := median(c.beyond); files > 1 && cost > mostBeyondReading {
				b.Errorf("one changed router of %d costs %v of CPU beyond reading the file again, more than %v", routers, cost,
					mostBeyondReading)
			}
		})
	}
}

func (c *costs) report(b *testing.B) {
	milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	for name, of := range map[string][]time.Duration{"comment": c.comment, "router": c.router} {
		b.ReportMetric(milliseconds(median(of)), "cpu-ms/"+name)
		b.ReportMetric(milliseconds(slices.Min(of)), "cpu-ms/"+name+"-least")
	}
	b.ReportMetric(milliseconds(median(c.beyond)), "cpu-ms/beyond-reading")
	b.ReportMetric(milliseconds(median(c.served)), "ms/served")
	b.ReportMetric(milliseconds(slices.Min(c.served)), "ms/served-least")
	b.ReportMetric(milliseconds(slices.Max(c.served)), "ms/served-most")
	b.ReportMetric(0, "ns/op") // It is the time of the waits.
}
