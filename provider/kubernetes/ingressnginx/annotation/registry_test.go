package annotation_test

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// lines returns the lines of a file of testdata.
func lines(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var found []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		found = append(found, scanner.Text())
	}
	return found
}

// TestRegistryIsComplete compares the registry with the names and risks that ingress-nginx 1.15.1 documents.
func TestRegistryIsComplete(t *testing.T) {
	var got []string
	for _, spec := range annotation.All() {
		got = append(got, spec.Name+"\t"+spec.Risk.String())
	}
	slices.Sort(got)
	want := lines(t, "annotations.tsv")
	if len(want) != 136 || !slices.Equal(got, want) {
		t.Errorf("%d annotations, want %d of which %q are missing", len(got), len(want), without(want, got))
		t.Errorf("not among them: %q", without(got, want))
	}
}

// without returns what is in one list and not in another.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(other, one) })
}

// TestRegistrySaysWhatBecomesOfEach demands that each row has what its degree of support needs.
func TestRegistrySaysWhatBecomesOfEach(t *testing.T) {
	seen := map[string]bool{}
	for _, spec := range annotation.All() {
		for _, name := range append([]string{spec.Name}, spec.Aliases...) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if spec.Means == "" || spec.Group == "" || spec.Scope == "" {
			t.Errorf("%s: incomplete", spec.Name)
		}
		if (spec.Note == "") != (spec.Support == annotation.Same) {
			t.Errorf("%s: %s with the note %q", spec.Name, spec.Support, spec.Note)
		}
		for _, text := range []string{spec.Means, spec.Note, spec.Replacement} {
			if strings.ContainsAny(text, "|\n") || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q does not fit into a table", spec.Name, text)
			}
		}
		if found, ok := annotation.Lookup(annotation.Prefix + spec.Name); !ok || found.Name != spec.Name {
			t.Errorf("%s is not found", spec.Name)
		}
	}
	if _, ok := annotation.Lookup("app-root"); ok {
		t.Error("a key without prefix is found")
	}
	if spec, ok := annotation.Lookup(annotation.Prefix + "limit-whitelist"); !ok || spec.Name != "limit-allowlist" {
		t.Errorf("an alias leads to %q", spec.Name)
	}
}

// TestRetiredNamesAreNoAnnotations demands that old names are ordered, and none of the current ones.
func TestRetiredNamesAreNoAnnotations(t *testing.T) {
	var names []string
	for _, old := range annotation.AllRetired() {
		if _, current := annotation.Lookup(annotation.Prefix + old.Name); current || old.Replacement == "" {
			t.Errorf("%s is current, or has no replacement", old.Name)
		}
		names = append(names, old.Name)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not in order, or double: %q", names)
	}
}

// TestConfigKeysAreComplete compares the keys of the ConfigMap with those that ingress-nginx 1.15.1 reads or documents.
func TestConfigKeysAreComplete(t *testing.T) {
	var got []string
	for _, key := range annotation.AllConfigKeys() {
		got = append(got, key.Name)
		if (key.Note == "") != (key.Effect == annotation.Setting) {
			t.Errorf("%s: the note %q", key.Name, key.Note)
		}
	}
	if want := lines(t, "configmap.txt"); !slices.Equal(got, want) {
		t.Errorf("missing %q, not among them %q", without(want, got), without(got, want))
	}
}
