package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// covers reports whether a row of the migration page stands for a value: it names the value or one above it.
func covers(row, value string) bool {
	want, got := strings.Split(row, "."), strings.Split(value, ".")
	if len(want) > len(got) {
		return false
	}
	for i, name := range want {
		if name != "*" && name != got[i] {
			return false
		}
	}
	return true
}

// rows returns the values that the page lists, with their places in this chart.
func rows(t *testing.T) map[string][]string {
	t.Helper()
	code := regexp.MustCompile("`([^`]+)`")
	found := map[string][]string{}
	for line := range strings.Lines(string(read(t, "../../docs/migrate/traefik-chart.md"))) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		var places []string
		for _, match := range code.FindAllStringSubmatch(cells[2], -1) {
			places = append(places, match[1])
		}
		if len(places) == 0 && (strings.TrimSpace(cells[2]) != "none" || strings.TrimSpace(cells[3]) == "") {
			t.Errorf("%s has neither a place nor a reason", cells[1])
		}
		found[strings.Trim(cells[1], " `")] = places
	}
	return found
}

// TestEveryValueOfTraefiksChartHasAPlace reads docs/migrate/traefik-chart.md: it has a row for each value of the other
// chart, each row is of use, and each place exists.
func TestEveryValueOfTraefiksChartHasAPlace(t *testing.T) {
	t.Parallel()
	rows := rows(t)
	values := strings.Fields(string(read(t, "testdata/traefik-chart-41.3.0.txt")))
	used := map[string]bool{}
	for _, value := range values {
		longest := ""
		for row := range rows {
			if covers(row, value) && len(row) > len(longest) {
				longest = row
			}
		}
		if longest == "" {
			t.Errorf("%s is not on the page", value)
		}
		used[longest] = true
	}
	ours := readYAML(t, chart+"/values.yaml")
	for row, places := range rows {
		if !used[row] {
			t.Errorf("%s is on the page, but it is no value of the other chart", row)
		}
		for _, place := range places {
			if !hasValue(ours, strings.Split(place, ".")) {
				t.Errorf("%s: there is no %s here", row, place)
			}
		}
	}
}

// hasValue reports whether a value is one of the chart's; below `configuration` it has to be a static option.
func hasValue(values object, path []string) bool {
	if path[0] == "configuration" && len(path) > 1 {
		return slices.ContainsFunc(static.Options(), func(option static.Option) bool {
			return option.Path == path[1] || strings.HasPrefix(option.Path, path[1]+".")
		})
	}
	at := any(map[string]any(values))
	for _, name := range path {
		fields, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = fields[name]; !ok {
			return false
		}
	}
	return true
}
