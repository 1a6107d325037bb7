package main

import (
	"strings"
	"testing"
)

func TestRowsAreNamedOnceAndChosen(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range table() {
		if seen[row.name] || len(row.contestants) == 0 || row.title == "" {
			t.Errorf("row %q is there twice, or lacks something", row.name)
		}
		seen[row.name] = true
	}
	got, err := choose(table(), "^small$", "nginx|sluice")
	if err != nil || len(got) != 1 || len(got[0].contestants) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBrowserSendsWhatBrowsersSend counts the request's fields, with Host, and the length of the cookie.
func TestBrowserSendsWhatBrowsersSend(t *testing.T) {
	fields := browser().fields
	if len(fields) != 19 {
		t.Errorf("%d fields and Host", len(fields))
	}
	for _, field := range fields {
		if name, value := split(field); name == "Cookie" && len(value) != 1<<10 {
			t.Errorf("the cookie has %d bytes", len(value))
		}
	}
}

func TestOptionsAreBounded(t *testing.T) {
	for _, args := range [][]string{
		{"-rounds", "0"}, {"-rounds", "21"}, {"-seconds", "0"}, {"-seconds", "61"}, {"-rows", "("}, {"-proxies", "("}, {"-rows", "nothing"}, {"more"},
	} {
		if _, err := parse(args, new(strings.Builder)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if got, err := parse([]string{"-rows", "^tls$"}, new(strings.Builder)); err != nil || !got.partial || !strings.HasPrefix(got.out, ".cache/") {
		t.Errorf("part of a comparison: %+v, %v", got, err)
	}
}
