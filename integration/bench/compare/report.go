package main

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	configurations "github.com/sluiceproxy/sluice/integration/bench/peers"
)

// report is the content of the page.
type report struct {
	environment  []string
	began, ended time.Time
	settings     settings
	results      results
	// complete is set if no round was interrupted.
	complete bool
}

const (
	// saturated is the usage of the load's core, in percent, above which it may limit the proxy.
	saturated = 95
	// disturbed is the usage of the proxy's core by others, in percent, above which it affects the proxy's caches.
	disturbed = 10
)

// write prints the tables and writes the page. names are pairs of a path of this machine and its replacement.
func (r report) write(stdout io.Writer, names []string) error {
	tables := r.bounds() + "\n" + r.everything()
	rename := strings.NewReplacer(names...)
	if _, err := fmt.Fprintf(stdout, "\n%s\n", tables); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.settings.out), 0o755); err != nil {
		return err
	}
	page := rename.Replace(r.head() + tables + r.tail())
	if err := os.WriteFile(r.settings.out, []byte(page), 0o644); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "written: %s\n", r.settings.out)
	return err
}

// head is the text before the tables.
func (r report) head() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Comparison of %s\n\n", r.began.Format(time.DateOnly))
	fmt.Fprintf(&out, "```sh\n%s\n```\n\n", r.settings.line)
	fmt.Fprintf(&out, "Rounds: %d, with %v for each measurement; %v in all.", r.settings.rounds, r.settings.time,
		r.ended.Sub(r.began).Round(time.Second))
	if !r.complete {
		out.WriteString(" **It was interrupted.**")
	}
	out.WriteString(`
The proxy runs on core 0, endpoints and load on core 1. CPU is the scheduler's time of the proxy's processes for each
request, in microseconds; the rows for TCP and UDP count a connection, a round trip or a datagram with its answer
instead, or give seconds for a GiB. Every figure is the median of the rounds, with the least and the largest in
parentheses; a ratio is made in each round, with the first proxy of the row or the best of the others. Where core 1
was busy for 95 % of the time or more, the load or the endpoint may have held the proxy back: requests per second and
latency are then theirs too, while CPU for each request stays the proxy's. Where others kept core 0 busy for 10 % of
the time or more, the measurement is marked as disturbed, and so is a verdict that rests on it.

`)
	for _, line := range r.environment {
		fmt.Fprintf(&out, "- %s\n", line)
	}
	if r.results.rate > 0 {
		fmt.Fprintf(&out, "- nginx's capacity, of which open loops send a share: %.0f requests per second\n", r.results.rate)
	}
	out.WriteString("\n")
	return out.String()
}

// bounds is the table of bounds.
func (r report) bounds() string {
	var out strings.Builder
	out.WriteString("## Bounds\n\n| row | what | metric | compared with | Sluice | ratio | must | " +
		"|\n|---|---|---|---|---|---|---|---|\n")
	for _, row := range r.settings.rows {
		last := row.contestants[len(row.contestants)-1]
		if last.program != "sluice" {
			continue
		}
		for _, bound := range row.bounds() {
			m := bound.metric
			other, base := r.base(row, bound), ""
			if len(row.contestants) > 1 {
				base = fmt.Sprintf("%s %s", other, r.results.series(row.name, other, m).format(m))
			}
			must, verdict := r.judge(row, last, bound)
			fmt.Fprintf(&out, "| %s | %s | %s, %s | %s | %s | %s | %s | %s |\n", row.name, row.title, m.name, m.unit,
				base, r.results.series(row.name, last.name, m).format(m), r.ratios(row, last, other, m).format(times),
				must, verdict)
		}
	}
	return out.String()
}

// bounds returns the bounds of a row, or an empty one.
func (r row) bounds() []bound {
	if len(r.must) == 0 {
		return []bound{{metric: cpu}}
	}
	return r.must
}

// base returns the contestant of a row to which a bound of Sluice is a ratio: the first one, or the best of the others.
func (r report) base(row row, bound bound) string {
	first := row.contestants[0].name
	if !bound.best {
		return first
	}
	best, least := first, math.Inf(1)
	for _, other := range row.contestants[:len(row.contestants)-1] {
		values := r.results.series(row.name, other.name, bound.metric)
		if median := values.median(); len(values) > 0 && median < least {
			best, least = other.name, median
		}
	}
	return best
}

// ratios returns a contestant's ratios to another one of its row; none for that one itself.
func (r report) ratios(row row, who contestant, base string, m metric) spread {
	if who.name == base {
		return nil
	}
	return r.results.ratios(row.name, who.name, base, m)
}

// judge returns a bound and its verdict for Sluice as last contestant of a row.
func (r report) judge(row row, who contestant, bound bound) (must, verdict string) {
	switch {
	case who.name != row.contestants[len(row.contestants)-1].name || who.program != "sluice":
		return "", ""
	case bound.most == 0:
		return "–", ""
	case bound.absolute:
		return bound.String(), bound.verdict(r.results.series(row.name, who.name, bound.metric))
	}
	base := r.base(row, bound)
	verdict = bound.verdict(r.ratios(row, who, base, bound.metric))
	for _, name := range []string{base, who.name} {
		if r.results.series(row.name, name, strangers).median() >= disturbed {
			return bound.String(), verdict + ", disturbed"
		}
	}
	return bound.String(), verdict
}

// everything is the table of all metrics of all contestants.
func (r report) everything() string {
	columns := r.columns()
	var out strings.Builder
	out.WriteString("## Everything\n\n| row | proxy |")
	for _, m := range columns {
		fmt.Fprintf(&out, " %s |", strings.TrimSpace(m.name+" "+m.unit))
		if m.compared() {
			out.WriteString(" to first |")
		}
	}
	out.WriteString(" must | |\n" + strings.Repeat("|---", strings.Count(out.String(), "|")-1+2) + "|\n")
	for _, row := range r.settings.rows {
		for _, who := range row.contestants {
			r.line(&out, row, who, columns)
		}
	}
	return out.String()
}

// columns returns the metrics that have values.
func (r report) columns() []metric {
	return slices.DeleteFunc(metrics(), func(m metric) bool {
		return !slices.ContainsFunc(r.results.samples, func(s sample) bool { _, ok := s.values[m]; return ok })
	})
}

// line writes the line of a contestant.
func (r report) line(out *strings.Builder, row row, who contestant, columns []metric) {
	fmt.Fprintf(out, "| %s | %s |", row.name, who.name)
	for _, m := range columns {
		values := r.results.series(row.name, who.name, m)
		cell := values.format(m)
		if !m.compared() && len(values) > 0 {
			cell = m.format(values.median())
		}
		switch {
		case m == busyLoad && values.median() >= saturated:
			cell += " **saturated**"
		case m == strangers && values.median() >= disturbed:
			cell += " **disturbed**"
		}
		fmt.Fprintf(out, " %s |", cell)
		if m.compared() {
			fmt.Fprintf(out, " %s |", r.ratios(row, who, row.contestants[0].name, m).format(times))
		}
	}
	var musts, verdicts []string
	for _, bound := range row.bounds() {
		must, verdict := r.judge(row, who, bound)
		if must != "" && must != "–" {
			musts, verdicts = append(musts, bound.metric.name+" "+must), append(verdicts, verdict)
		}
	}
	fmt.Fprintf(out, " %s | %s |\n", strings.Join(musts, "; "), strings.Join(verdicts, "; "))
}

// tail is the text after the tables.
func (r report) tail() string {
	var out strings.Builder
	out.WriteString("\n## Rows\n\n| row | what | load |\n|---|---|---|\n")
	for _, row := range r.settings.rows {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", row.name, row.title, row.how())
	}
	out.WriteString("\n## Every measurement\n\n```text\n")
	for _, s := range r.results.samples {
		fmt.Fprintf(&out, "%d  %s\n", s.round, s)
	}
	out.WriteString("```\n\n## Configurations\n")
	var names []string
	for _, pattern := range []string{"*.*", "Caddyfile", "relay/*"} {
		matching, err := fs.Glob(configurations.Files, pattern)
		if err != nil {
			panic(err) // The pattern is a constant.
		}
		names = append(names, matching...)
	}
	for _, name := range names {
		text, err := fs.ReadFile(configurations.Files, name)
		if err != nil {
			panic(err) // The file is embedded.
		}
		fmt.Fprintf(&out, "\n`%s`\n\n```text\n%s```\n", name, text)
	}
	out.WriteString("\n## Output of the loads\n\n```text\n")
	for _, s := range r.results.samples {
		if s.raw != "" {
			fmt.Fprintf(&out, "--- round %d, %s, %s\n%s\n", s.round, s.row, s.contestant, strings.TrimSpace(s.raw))
		}
	}
	out.WriteString("```\n")
	return out.String()
}
