package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate/dnsprovider"
)

const root = "../../.."

// TestGeneratedFiles keeps the registry and its page equal to lego's providers and the table.
func TestGeneratedFiles(t *testing.T) {
	made, err := files(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: run make generate (-generated +written):\n%s", name, diff)
		}
	}
}

// TestAllOfLego compares the registry and the page with the names that lego's own registry has.
func TestAllOfLego(t *testing.T) {
	dir, err := moduleDir(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(dir, "providers", "dns", "zz_gen_dns_providers.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	linkedNow := dnsprovider.Names()
	cases := regexp.MustCompile(`(?m)^\tcase (".*"):$`).FindAllStringSubmatch(string(source), -1)
	seen := 0
	for _, match := range cases {
		names := regexp.MustCompile(`[^", ]+`).FindAllString(match[1], -1)
		row := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "| "+cell(names)+" |") })
		if row < 0 {
			t.Errorf("%s has no row for %q", page, names)
			continue
		}
		yes := strings.Contains(lines[row], " | yes | ")
		for _, name := range names {
			seen++
			if slices.Contains(linkedNow, name) != yes && !strings.Contains(lines[row], " | with tag | ") {
				t.Errorf("%s is linked: %t, unlike the page", name, !yes)
			}
		}
	}
	if seen < 200 {
		t.Errorf("lego has %d names", seen)
	}
	rows := slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "| `") })
	if len(rows) != len(cases) {
		t.Errorf("the page has %d rows, and lego %d providers", len(rows), len(cases))
	}
}

func TestTablesNameProviders(t *testing.T) {
	if err := assign([]provider{{name: "exec"}}); err == nil || !strings.Contains(err.Error(), "which lego does not have") {
		t.Errorf("got %v", err)
	}
	for _, name := range large() {
		if _, also := missing()[name]; also {
			t.Errorf("%s is in both tables", name)
		}
	}
}
