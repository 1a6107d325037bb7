package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
)

// The severities of findings. A configuration with an error is not valid.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// report is the result of check. Its JSON is documented in docs/commands.md.
type report struct {
	// Source is the file or the URL that was read, Valid whether nothing in it is refused.
	Source string `json:"source"`
	Valid  bool   `json:"valid"`
	// Counts are the declared objects by kind: routers, services, middlewares and so on.
	Counts map[string]int `json:"counts"`
	// Skipped are the providers that were not read.
	Skipped  []string  `json:"skipped,omitempty"`
	Findings []finding `json:"findings"`
}

// finding is one thing that is wrong, or without effect.
type finding struct {
	Severity string `json:"severity"`
	// File and Line are where it was declared. What is not in a file has an Origin, such as a container.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Origin string `json:"origin,omitempty"`
	// Kind and Name are those of the object, Option is the option of the static configuration.
	Kind   string `json:"kind,omitempty"`
	Name   string `json:"name,omitempty"`
	Option string `json:"option,omitempty"`
	// Code is the reason as one word (docs/api.md), Message the reason as a sentence.
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	// Affects are the objects that this one disables, as KIND NAME.
	Affects []string `json:"affects,omitempty"`

	// text is the finding in one line.
	text string
}

func newReport(source string) *report {
	return &report{Source: source, Counts: map[string]int{}, Findings: []finding{}}
}

func (r *report) add(found finding) {
	found.text = cmp.Or(found.text, found.Message)
	r.Findings = append(r.Findings, found)
}

// addStatic adds the findings of the static configuration but those that only inform.
func (r *report) addStatic(findings []static.Finding) {
	for _, found := range findings {
		if found.Severity > static.Warning {
			continue
		}
		severity := severityWarning
		if found.Severity == static.Error {
			severity = severityError
		}
		added := finding{
			Severity: severity, Line: found.Line, Option: found.Option, Message: found.Reason,
			text: found.String(),
		}
		if found.Line > 0 || !strings.Contains(found.File, " ") {
			added.File = found.File
		} else {
			added.Origin = found.File
		}
		r.add(added)
	}
}

// runningFinding returns the finding for a verdict of a running Sluice.
func runningFinding(verdict api.Finding) finding {
	found := finding{
		Severity: severityWarning, Origin: verdict.Origin, Kind: string(verdict.Kind), Name: verdict.Name,
		Code: string(verdict.Code), Message: verdict.Reason,
	}
	found.text = found.Kind + " " + found.Name + ": " + found.Message
	if found.Origin != "" {
		found.text = found.Origin + ": " + found.text
	}
	if verdict.Status == dynamic.Quarantined.String() || verdict.Status == dynamic.Retained.String() {
		found.Severity = severityError
	}
	return found
}

// addVerdicts adds verdicts.
func (r *report) addVerdicts(verdicts []dynamic.Verdict) {
	found := make([]finding, len(verdicts))
	for i, verdict := range verdicts {
		found[i] = findingOf(verdict)
	}
	r.addOnce(found)
}

// addOnce adds findings on objects. One that only repeats that of another object is not added: the other one names it.
func (r *report) addOnce(findings []finding) {
	roots := map[string]int{}
	for _, found := range findings {
		if found.repeats() {
			continue
		}
		ref := dynamic.Ref{Kind: dynamic.Kind(found.Kind), Name: found.Name}
		roots[ref.String()+": "+found.Message] = len(r.Findings)
		if found.Code == string(dynamic.CodeReferenceLoop) {
			roots[found.Message] = len(r.Findings) // It names the objects of the loop.
		}
		r.add(found)
	}
	for _, found := range findings {
		if !found.repeats() {
			continue
		}
		if root, known := rootOf(found.Message, roots); known {
			affected := &r.Findings[root]
			affected.Affects = append(affected.Affects, found.Kind+" "+found.Name)
			continue
		}
		r.add(found)
	}
}

// notGiven makes warnings of the findings on Services of namespaces of which the manifests have no Service: they are
// probably declared elsewhere.
func (r *report) notGiven(in *inputs) {
	unread := func(f finding) bool {
		return f.Severity == severityError && strings.HasPrefix(f.Origin, "Service ")
	}
	if in.manifests == nil || slices.ContainsFunc(r.Findings, unread) {
		return
	}
	for i := range r.Findings {
		found := &r.Findings[i]
		service, missing := strings.CutSuffix(found.Message, " does not exist")
		name, isService := strings.CutPrefix(service, "Service ")
		namespace, _, _ := strings.Cut(name, "/")
		if found.Code == string(dynamic.CodeMissingService) && missing && isService &&
			!in.manifests.Has("Service", namespace) {
			message := service + " is not in the given manifests"
			found.text = strings.TrimSuffix(found.text, found.Message) + message
			found.Severity, found.Message = severityWarning, message
		}
	}
}

// repeats reports whether the finding may be that of an object that this one refers to.
func (f *finding) repeats() bool {
	switch dynamic.Code(f.Code) {
	case dynamic.CodeInvalidReference:
		return true
	case dynamic.CodeReferenceLoop:
		return !strings.Contains(f.Message, f.Name)
	}
	return false
}

// rootOf finds the finding whose reason another one repeats: directly, or through objects in between.
func rootOf(reason string, roots map[string]int) (index int, known bool) {
	for {
		if index, known := roots[reason]; known {
			return index, true
		}
		_, rest, found := strings.Cut(reason, "\": ")
		if !found {
			return 0, false
		}
		reason = rest
	}
}

func findingOf(verdict dynamic.Verdict) finding {
	found := finding{
		Severity: severityWarning, File: verdict.Origin.File, Line: verdict.Origin.Line, Origin: verdict.Origin.Object,
		Kind: string(verdict.Ref.Kind), Name: verdict.Ref.Name, Code: string(verdict.ReasonCode()), Message: verdict.Reason,
		text: verdict.String(),
	}
	if verdict.Status >= dynamic.Retained {
		found.Severity = severityError
	}
	return found
}

// addProviders adds the required providers that have delivered nothing, unless a finding on their source says so.
func (r *report) addProviders(state *pipeline.State, in *inputs) {
	for _, name := range undelivered(state) {
		reported := slices.ContainsFunc(r.Findings, func(f finding) bool {
			return f.Kind == string(dynamic.KindSource) && f.Severity == severityError && strings.HasSuffix(f.Name, "@"+name)
		})
		if reported {
			continue
		}
		message := state.Providers[name].State.String() + ": " + state.Providers[name].Reason
		if name != "file" && in.manifests == nil && in.containers == nil {
			message += "; --offline leaves this provider out"
		}
		r.addProvider(name, message)
	}
}

// addProvider adds a provider that has delivered nothing.
func (r *report) addProvider(name, message string) {
	r.add(finding{
		Severity: severityError, Kind: "provider", Name: name, Code: string(dynamic.CodeUnreadableSource), Message: message,
		text: "provider " + name + ": " + message,
	})
}

// undelivered returns the names of the required providers that have delivered nothing.
func undelivered(state *pipeline.State) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(state.Providers)), func(name string) bool {
		status := state.Providers[name]
		return !status.Required || status.State == dynamic.StateSynced || status.State == dynamic.StateAbsent
	})
}

// count counts the objects that users have declared.
func (r *report) count(configuration *dynamic.Configuration) {
	for ref := range configuration.Objects() {
		if !strings.HasSuffix(ref.Name, "@"+pipeline.InternalProvider) {
			r.Counts[plural(ref.Kind)]++
		}
	}
}

// plural returns the name of a kind for more than one object.
func plural(kind dynamic.Kind) string {
	name := string(kind)
	if strings.HasSuffix(name, "s") {
		return name
	}
	return name + "s"
}

// complete sorts the findings by file and line, with those outside of files last, and decides whether the configuration
// is valid.
func (r *report) complete() *report {
	slices.SortStableFunc(r.Findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(noFile(a), noFile(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Origin, b.Origin))
	})
	r.Valid = !slices.ContainsFunc(r.Findings, func(f finding) bool { return f.Severity == severityError })
	return r
}

func noFile(f finding) int {
	if f.File == "" {
		return 1
	}
	return 0
}
