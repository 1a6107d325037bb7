package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
)

// settled is a system that has compiled a configuration once, with the findings on it.
type settled struct {
	*system
	state    *pipeline.State
	verdicts []dynamic.Verdict
}

// settleSource compiles the configuration as run would. Objects that are quarantined do not keep it from answering,
// but a provider of which nothing is known does: the answer would be another one with it.
func settleSource(from source, stderr io.Writer) (*settled, error) {
	return settleInputs(from, &inputs{}, stderr)
}

// settleInputs is settleSource with files that were given as arguments. With manifests or containers among them,
// providers are left out that would need a connection.
func settleInputs(from source, in *inputs, stderr io.Writer) (*settled, error) {
	if static.HasErrors(from.findings) {
		printFindings(stderr, from.findings)
		return nil, errStatic
	}
	if in.manifests != nil || in.containers != nil {
		withoutConnections(from.loaded.Configuration, in)
	}
	s, state, err := settle(from.loaded, in)
	if err != nil {
		return nil, err
	}
	if missing := undelivered(state); len(missing) > 0 {
		printVerdicts(stderr, state.Verdicts)
		status := state.Providers[missing[0]]
		return nil, fmt.Errorf("nothing could be read of the provider %s: %s: %s", missing[0], status.State, status.Reason)
	}
	return &settled{s, state, state.Verdicts}, nil
}

// printConcerned writes the findings on the named objects and on sources, and how many others there are.
func (s *settled) printConcerned(stderr io.Writer, names []string) {
	concerned := slices.Clone(s.verdicts)
	concerned = slices.DeleteFunc(concerned, func(v dynamic.Verdict) bool {
		return v.Ref.Kind != dynamic.KindSource && !slices.Contains(names, v.Ref.Name)
	})
	printVerdicts(stderr, concerned)
	if others := len(s.verdicts) - len(concerned); others > 0 {
		more := ""
		if len(concerned) > 0 {
			more = " more"
		}
		say(stderr, "%s; print them with: sluice check\n", strings.Replace(counted(others, "finding"), " ", more+" ", 1))
	}
}

// printVerdicts writes one verdict a line, with its reason code in brackets, and leaves out what repeats that on
// another object (dynamic.Distinct).
func printVerdicts(out io.Writer, verdicts []dynamic.Verdict) {
	for _, verdict := range dynamic.Distinct(verdicts) {
		if verdict.Status >= dynamic.Retained {
			say(out, "%s [%s]\n", verdict, verdict.ReasonCode())
			continue
		}
		say(out, "%s [%s] (%s)\n", verdict, verdict.ReasonCode(), verdict.Status)
	}
}
