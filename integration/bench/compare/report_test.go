package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// trial is a comparison of two contestants in one row, with CPU times for each round.
func trial(nginx, own []float64) report {
	r := report{settings: settings{rows: []row{{
		name: "small", title: "small", load: closed{connections: 64},
		contestants: []contestant{{name: "nginx", program: "nginx"}, sluice("sluice", 1)},
		must:        []bound{{metric: cpu, most: 1.2}},
	}}, rounds: len(nginx), time: time.Second}, complete: true}
	for i := range nginx {
		for name, value := range map[string]float64{"nginx": nginx[i], "sluice": own[i]} {
			r.results.samples = append(r.results.samples, sample{
				row: "small", contestant: name, round: i + 1, raw: "printed by " + name, values: map[metric]float64{
					cpu:      value,
					busyLoad: 97,
				},
			})
		}
	}
	return r
}

// TestRatiosAreMadeWithinARound doubles everything in the second round: the ratio stays what it was.
func TestRatiosAreMadeWithinARound(t *testing.T) {
	r := trial([]float64{20, 40, 20}, []float64{30, 60, 22})
	line := "| small | small | CPU, us | nginx 20.0 (20.0–40.0) | 30.0 (22.0–60.0) | 1.50 (1.10–1.50) | ≤ 1.2 x | " +
		"**not met** |"
	if got := r.bounds(); !strings.Contains(got, line) {
		t.Errorf("there is no line\n%s\nin\n%s", line, got)
	}
	if got := trial([]float64{20, 20, 20}, []float64{30, 24, 20}).bounds(); !strings.Contains(got, "| met |") {
		t.Errorf("the bound is not met:\n%s", got)
	}
}

// TestTheBestOfTheOthers adds a peer that is better than the first one, and one that was not measured.
func TestTheBestOfTheOthers(t *testing.T) {
	r := trial([]float64{20, 20, 20}, []float64{18, 16, 20})
	row := &r.settings.rows[0]
	row.must = []bound{{metric: cpu, most: 1.5, best: true}}
	row.contestants = []contestant{{name: "caddy"}, {name: "nginx"}, {name: "haproxy"}, row.contestants[1]}
	for round := range 3 {
		r.results.samples = append(r.results.samples, sample{
			row: "small", contestant: "haproxy", round: round + 1, values: map[metric]float64{cpu: 10},
		})
	}
	line := "| CPU, us | haproxy 10.0 (10.0–10.0) | 18.0 (16.0–20.0) | 1.80 (1.60–2.00) | ≤ 1.5 x the best | **not met** |"
	if got := r.bounds(); !strings.Contains(got, line) {
		t.Errorf("there is no line\n%s\nin\n%s", line, got)
	}
}

// TestADisturbedVerdictSaysSo lets others use the core of nginx in most rounds.
func TestADisturbedVerdictSaysSo(t *testing.T) {
	r := trial([]float64{20, 20, 20}, []float64{20, 20, 20})
	for _, s := range r.results.samples {
		if s.contestant == "nginx" && s.round > 1 {
			s.values[strangers] = 40
		}
	}
	if got := r.bounds(); !strings.Contains(got, "| met, disturbed |") {
		t.Errorf("the verdict does not say so:\n%s", got)
	}
	if got := r.everything(); !strings.Contains(got, "**disturbed**") {
		t.Errorf("the table does not say so:\n%s", got)
	}
}

func TestTablesHaveOneWidth(t *testing.T) {
	r := trial([]float64{20, 40}, []float64{30, 60})
	r.results.samples = append(r.results.samples, sample{
		row: "small", contestant: "sluice", round: 3,
		failure: errors.New("down"),
	})
	for _, table := range []string{r.bounds(), r.everything()} {
		width := 0
		for line := range strings.Lines(table) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			if columns := strings.Count(line, "|"); width != 0 && columns != width {
				t.Errorf("%d columns, not %d: %s", columns, width, line)
			} else {
				width = columns
			}
		}
	}
	if !strings.Contains(r.everything(), "saturated") {
		t.Error("nothing says that the core of the load was saturated")
	}
}

func TestThePageNamesNoPathOfTheMachine(t *testing.T) {
	r := trial([]float64{20}, []float64{30})
	r.settings.out = filepath.Join(t.TempDir(), "page.md")
	r.results.samples[0].raw = "read /somewhere/bench-1/small"
	if err := r.write(t.Output(), []string{"/somewhere/bench-1", "$DIR"}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(r.settings.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"read $DIR/small", "http-reuse always", "≤ 1.2 x"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}
