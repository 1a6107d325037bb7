package nginx_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEndToEnd checks which of the end-to-end tests of ingress-nginx 1.15.1 that send requests have a case: all but
// those that are listed with a reason.
func TestEndToEnd(t *testing.T) {
	const sendRequests = 285
	named := map[string]string{}
	for _, all := range groups(t) {
		for _, c := range all {
			for _, test := range c.Tests {
				if other, twice := named[test]; twice {
					t.Errorf("%q is that of %s and %v", test, other, c)
				}
				named[test] = c.String()
				if file, description, ok := strings.Cut(test, ": "); !ok || !strings.HasSuffix(file, ".go") || description == "" {
					t.Errorf("%v: %q is not \"FILE: DESCRIPTION\"", c, test)
				}
			}
		}
	}
	covered := len(named)
	for _, fields := range table(t, "testdata/uncovered.tsv", 2) {
		if other, twice := named[fields[0]]; twice {
			t.Errorf("%q is covered by %s", fields[0], other)
		}
		named[fields[0]] = "testdata/uncovered.tsv"
	}
	if covered < 250 || len(named) != sendRequests {
		t.Errorf("%d tests have a case and %d a reason, want %d together", covered, len(named)-covered, sendRequests)
	}
}

// table reads the lines of a file that are not empty and no comments, and have a number of fields between tabulators.
func table(t *testing.T, name string, number int) [][]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != number || slices.Contains(fields, "") {
			t.Fatalf("%s:%d: %q has not %d fields", name, i+1, line, number)
		}
		rows = append(rows, fields)
	}
	return rows
}
