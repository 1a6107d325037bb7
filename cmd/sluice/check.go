package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
)

// exit codes of the subcommands that look at a configuration.
const (
	exitFine   = 0
	exitNone   = 1
	exitBroken = 2
)

// check validates the static and the dynamic configuration without listening. It prints one finding a line and
// returns 0 when nothing is refused, 1 when something is, and 2 for wrong arguments.
func check(args, environ []string, stdout, stderr io.Writer) int {
	flags := newFlags("check", "[--configFile FILE] [OPTIONS]", stderr)
	positional, options, err := parseMixed(flags, args)
	if code, done := flagResult(flags, positional, err); done {
		return code
	}
	loaded, findings := static.Load(static.Sources{Args: options, Environ: environ})
	printFindings(stdout, findings)
	if static.HasErrors(findings) {
		return exitNone
	}
	_, state, err := settle(loaded.Configuration)
	if err != nil {
		say(stdout, "%v\n", err)
		return exitNone
	}
	refused := printVerdicts(stdout, state.Verdicts) + printProviders(stdout, state)
	if refused > 0 {
		return exitNone
	}
	say(stdout, "%s: the configuration is valid\n", describeSource(loaded))
	return exitFine
}

func describeSource(loaded static.Loaded) string {
	if loaded.File == "" {
		return "sluice"
	}
	return loaded.File
}

// printVerdicts writes one verdict a line, with its reason code in brackets, and returns how many objects are
// quarantined.
func printVerdicts(out io.Writer, verdicts []dynamic.Verdict) int {
	refused := 0
	for _, verdict := range verdicts {
		if verdict.Status == dynamic.Quarantined {
			refused++
			say(out, "%s [%s]\n", verdict, verdict.ReasonCode())
			continue
		}
		say(out, "%s [%s] (%s)\n", verdict, verdict.ReasonCode(), verdict.Status)
	}
	return refused
}

// printProviders writes a line for each required provider that has delivered nothing, unless a verdict on its source
// has said so, and returns how many lines it wrote.
func printProviders(out io.Writer, state *pipeline.State) int {
	refused := 0
	for _, name := range undelivered(state) {
		reported := slices.ContainsFunc(state.Verdicts, func(v dynamic.Verdict) bool {
			return v.Ref.Kind == dynamic.KindSource && v.Status == dynamic.Quarantined && strings.HasSuffix(v.Ref.Name, "@"+name)
		})
		if reported {
			continue
		}
		say(out, "provider %s: %s: %s\n", name, state.Providers[name].State, state.Providers[name].Reason)
		refused++
	}
	return refused
}

// undelivered returns the names of the required providers that have delivered nothing.
func undelivered(state *pipeline.State) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(state.Providers)), func(name string) bool {
		status := state.Providers[name]
		return !status.Required || status.State == dynamic.StateSynced || status.State == dynamic.StateAbsent
	})
}
