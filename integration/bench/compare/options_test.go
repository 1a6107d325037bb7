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
		{"-rounds", "0"},
		{"-rounds", "21"},
		{"-seconds", "0"},
		{"-seconds", "61"},
		{"-rows", "("},
		{"-proxies", "("},
		{"-rows", "nothing"},
		{"more"},
	} {
		if _, err := parse(args, new(strings.Builder)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if got, err := parse([]string{"-rows", "^tls$"}, new(strings.Builder)); err != nil || !got.partial ||
		!strings.HasPrefix(got.out, ".cache/") {
		t.Errorf("part of a comparison: %+v, %v", got, err)
	}
}

// TestBeforeComparesTwoBinaries checks that each row compares the earlier binary with the measured one, in turns.
func TestBeforeComparesTwoBinaries(t *testing.T) {
	got, err := parse([]string{"-base", "/earlier/sluice"}, new(strings.Builder))
	if err != nil || !got.partial {
		t.Fatalf("%+v, %v", got, err)
	}
	names := map[string]bool{}
	for _, row := range got.rows {
		names[row.name] = true
		if len(row.contestants) != 2 || row.turns == 0 || row.contestants[0].binary != "/earlier/sluice" ||
			row.contestants[1].binary != "" {
			t.Errorf("row %s: %+v", row.name, row.contestants)
		}
	}
	for _, name := range []string{"browser", "small", "http2", "handshakes", "seen-traces"} {
		if !names[name] {
			t.Errorf("row %s is missing", name)
		}
	}
}
