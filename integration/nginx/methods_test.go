package nginx_test

import (
	"strings"
	"testing"
)

// TestMethods checks that each method of Traefik's comparison has a verdict, and a case that Sluice answers as
// ingress-nginx (TestSluice), or a documented difference.
func TestMethods(t *testing.T) {
	const suites, methods = 32, 308
	references := map[string]bool{}
	for _, all := range groups(t) {
		for _, c := range all {
			references[c.String()] = true
		}
	}
	unused := map[string]bool{}
	for _, fields := range table(t, "testdata/differences.tsv", 2) {
		name := "difference " + fields[0]
		if references[name] {
			t.Errorf("%q is twice in differences.tsv", name)
		}
		references[name], unused[name] = true, true
	}
	differing := map[string]bool{}
	for _, fields := range table(t, "testdata/sluice.tsv", 3) {
		name := "difference " + fields[1]
		if !references[fields[0]] || !references[name] {
			t.Errorf("there is no case %q, or no %q", fields[0], name)
		}
		differing[fields[0]] = true
		delete(unused, name)
	}
	seen, found, counts := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, fields := range table(t, "testdata/methods.tsv", 4) {
		suite, method, verdict, reference := fields[0], fields[1], fields[2], fields[3]
		if name := suite + "/" + method; seen[name] || !strings.HasPrefix(method, "Test") {
			t.Errorf("%q is there twice, or is no method", name)
		} else {
			seen[name], found[suite] = true, true
		}
		counts[verdict]++
		if !references[reference] {
			t.Errorf("%s/%s: there is no %q", suite, method, reference)
		}
		if different := strings.HasPrefix(reference, "difference "); different != (verdict == "different") {
			t.Errorf("%s/%s is %s, with reference %q", suite, method, verdict, reference)
		}
		if differing[reference] {
			t.Errorf("%s/%s is %s, but Sluice differs in %q", suite, method, verdict, reference)
		}
		delete(unused, reference)
	}
	for name := range unused {
		t.Errorf("%q has neither a method nor a case", name)
	}
	if sum := counts["same"] + counts["better"] + counts["different"]; sum != methods || len(seen) != methods ||
		len(found) != suites {
		t.Errorf("%d methods of %d suites, with verdicts %v, want %d of %d", len(seen), len(found), counts, methods, suites)
	}
	t.Log(counts)
}
