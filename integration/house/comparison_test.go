package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestComparisonShowsMeasuredFigures checks that each figure of speed in docs/comparison.md is the one of the
// measurement: CPU of nginx in microseconds, and the ratios of the other proxies to it.
func TestComparisonShowsMeasuredFigures(t *testing.T) {
	const page, measurement = "docs/comparison.md", "docs/performance/2026-11-21.md"
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, measured, _ := strings.Cut(read(measurement), "\n## Everything\n")
	type key struct{ row, proxy string }
	figures := map[key][2]string{} // CPU, and the ratio
	first := regexp.MustCompile(`(?m)^\| ([a-z0-9-]+) \| (nginx|haproxy|caddy|sluice) \| ([0-9.]+) \([^|]*\) \| ([0-9.]+|–)`)
	for _, match := range first.FindAllStringSubmatch(measured, -1) {
		if _, known := figures[key{match[1], match[2]}]; !known {
			figures[key{match[1], match[2]}] = [2]string{match[3], match[4]}
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)`: [^|]+ \\| ([0-9.]+) \\| ([0-9.]+) \\| ([0-9.]+) \\| ([0-9.]+) \\|$").
		FindAllStringSubmatch(read(page), -1)
	if len(rows) < 5 {
		t.Fatalf("%s has %d rows of figures", page, len(rows))
	}
	for _, row := range rows {
		for i, proxy := range []string{"nginx", "haproxy", "caddy", "sluice"} {
			want := figures[key{row[1], proxy}][min(i, 1)]
			if row[2+i] != want {
				t.Errorf("%s: %s of %s is %s, measured is %q", page, row[1], proxy, row[2+i], want)
			}
		}
	}
}
