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

// TestNarrowTables prints routers in fewer columns than their table needs.
func TestNarrowTables(t *testing.T) {
	listings := []router.Listing{{
		Name: "shop@file", EntryPoints: []string{"web"}, Priority: 46, Service: "shop@file", Status: "enabled",
		Rule: "Host(`shop.example.com`) && PathPrefix(`/a-rather-long-path`)",
	}}
	for width, want := range map[int]string{
		0: "ROUTER     ENTRYPOINTS  TLS  PRIORITY  RULE                                                           " +
			"MIDDLEWARES  SERVICE    STATUS\n" +
			"shop@file  web          no   46        Host(`shop.example.com`) && PathPrefix(`/a-rather-long-path`)  " +
			"-            shop@file  enabled\n",
		100: "ROUTER     ENTRYPOINTS  TLS  PRIORITY  RULE                          MIDDLEWARES  SERVICE    STATUS\n" +
			"shop@file  web          no   46        Host(`shop.example.com`) &&…  -            shop@file  enabled\n",
		60: "shop@file\n  ENTRYPOINTS  web\n  TLS          no\n  PRIORITY     46\n" +
			"  RULE         Host(`shop.example.com`) &&\n               PathPrefix(`/a-rather-long-path`)\n" +
			"  SERVICE      shop@file\n  STATUS       enabled\n",
		20: "shop@file\n  ENTRYPOINTS  web\n  TLS          no\n  PRIORITY     46\n" +
			"  RULE         Host(`shop.examp\n               le.com`) &&\n               PathPrefix(`/a-r\n" +
			"               ather-long-path`\n               )\n  SERVICE      shop@file\n  STATUS       enabled\n",
	} {
		var out strings.Builder
		printRoutes(&out, listings, width)
		if out.String() != want {
			t.Errorf("%d columns:\n%s", width, out.String())
		}
	}
}
