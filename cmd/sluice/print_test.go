package main

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router"
)

// Names, rules and reasons are declared by users: they must not add lines or speak to the terminal.
func TestPrintedTextStaysOnItsLine(t *testing.T) {
	const hostile = "a\x1b[2Jb\nc\u202e"
	var out strings.Builder
	printVerdicts(&out, []dynamic.Verdict{{
		Ref: dynamic.Ref{Kind: dynamic.KindRouter, Name: hostile}, Status: dynamic.Quarantined, Reason: hostile,
	}})
	printRoutes(&out, []router.Listing{{Name: hostile, Rule: hostile, Reason: hostile, EntryPoints: []string{hostile}}}, 0)
	printExplanation(&out, router.Explanation{
		Host: hostile, Path: hostile, Router: &router.Candidate{Name: hostile, Rule: hostile, Why: []string{hostile}},
		Middlewares: []string{hostile}, Service: &router.ServiceStatus{Name: hostile, Kind: "internal"},
	})
	if text := out.String(); strings.ContainsAny(text, "\x1b\u202e") || strings.Count(text, "\n") != 9 {
		t.Errorf("printed %q", text)
	}
	if text := out.String(); !strings.Contains(text, `router a\x1b[2Jb\nc\u202e: a\x1b[2Jb\nc\u202e`) {
		t.Errorf("printed %q", text)
	}
}
