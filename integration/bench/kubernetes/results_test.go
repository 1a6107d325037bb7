package kubernetes

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// times are durations of one thing that was done many times.
type times []time.Duration

// share returns the duration that a share of all, in percent, does not exceed.
func (t times) share(percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(len(sorted)-1, (len(sorted)*percent+99)/100-1)]
}

func (t times) median() time.Duration { return t.share(50) }

// String returns least, median, high shares and worst.
func (t times) String() string {
	return fmt.Sprintf("least %.1f, median %.1f, p90 %.1f, p99 %.1f, worst %.1f ms", milliseconds(slices.Min(t)),
		milliseconds(t.median()), milliseconds(t.share(90)), milliseconds(t.share(99)), milliseconds(slices.Max(t)))
}

// figures are what one thing was measured as, and how much of the machine others used meanwhile, in percent.
type figures struct{ values, others []float64 }

// results are everything that was measured.
type results struct {
	out   io.Writer
	of    map[int]map[string]*figures
	lines []string
}

// note records a figure of a size, and a line that explains it.
func (r *results) note(size int, key string, value, others float64, line string) {
	if r.of[size] == nil {
		r.of[size] = map[string]*figures{}
	}
	f := r.of[size][key]
	if f == nil {
		f = &figures{}
		r.of[size][key] = f
	}
	f.values, f.others = append(f.values, value), append(f.others, others)
	if line != "" {
		r.say(fmt.Sprintf("%5d routes: %s", size, line))
	}
}

// say records and prints a line.
func (r *results) say(line string) {
	r.lines = append(r.lines, line)
	_, _ = fmt.Fprintf(r.out, "%s %s\n", time.Now().UTC().Format(time.TimeOnly), line)
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
