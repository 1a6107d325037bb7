package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/owenrumney/go-sarif/v2/sarif"
)

// The formats of a report.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatSARIF  = "sarif"
	formatGitHub = "github"
)

func formats() []string { return []string{formatText, formatJSON, formatSARIF, formatGitHub} }

// write writes the report in one of the formats.
func (r *report) write(out io.Writer, format string) error {
	switch format {
	case formatJSON:
		printJSON(out, r)
	case formatSARIF:
		return r.writeSARIF(out)
	case formatGitHub:
		r.writeGitHub(out)
	default:
		r.writeText(out)
	}
	return nil
}

// writeText writes one finding a line, and a summary.
func (r *report) writeText(out io.Writer) {
	look := styleOf(out)
	for _, f := range r.Findings {
		suffix := ""
		if f.Code != "" {
			suffix = " [" + f.Code + "]"
		}
		severity := look.error
		if f.Severity == severityWarning {
			suffix += " (warning)"
			severity = look.warning
		}
		if len(f.Affects) > 0 {
			suffix += "; disables " + shortList(f.Affects, 5)
		}
		_, _ = fmt.Fprintf(out, "%s%s\n", severity(onOneLine(f.text)), onOneLine(suffix))
	}
	for _, name := range r.Skipped {
		say(out, "provider %s: not read\n", name)
	}
	verdict := look.good("the configuration is valid")
	if !r.Valid {
		verdict = look.error("the configuration is not valid")
	}
	_, _ = fmt.Fprintf(out, "%s: %s: %s; %s\n", onOneLine(r.Source), verdict, r.countsText(), r.findingsText())
}

// countsText returns the counts in one line; routers, services and middlewares are always there.
func (r *report) countsText() string {
	kinds := []string{"routers", "services", "middlewares"}
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		if !slices.Contains(kinds, kind) && r.Counts[kind] > 0 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = counted(r.Counts[kind], strings.TrimSuffix(kind, "s"))
	}
	return strings.Join(kinds, ", ")
}

func (r *report) findingsText() string {
	errors := 0
	for _, f := range r.Findings {
		if f.Severity == severityError {
			errors++
		}
	}
	return counted(errors, "error") + ", " + counted(len(r.Findings)-errors, "warning")
}

// counted returns a number with a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// shortList joins the first names, and says how many follow.
func shortList(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// writeGitHub writes workflow commands, which GitHub shows beside the lines of a change.
func (r *report) writeGitHub(out io.Writer) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range r.Findings {
		var properties []string
		if f.File != "" {
			properties = append(properties, "file="+property.Replace(f.File))
		}
		if f.Line > 0 {
			properties = append(properties, "line="+strconv.Itoa(f.Line))
		}
		if f.Code != "" {
			properties = append(properties, "title="+property.Replace(f.Code))
		}
		// Text behind the second pair of colons is data; % and line breaks alone are special there.
		data := strings.ReplaceAll(onOneLine(f.text), "%", "%25")
		_, _ = fmt.Fprintf(out, "::%s %s::%s\n", f.Severity, strings.Join(properties, ","), data)
	}
}

// writeSARIF writes a log of SARIF 2.1.0.
func (r *report) writeSARIF(out io.Writer) error {
	log, err := sarif.New(sarif.Version210)
	if err != nil {
		return err
	}
	run := sarif.NewRunWithInformationURI("sluice", "https://github.com/sluiceproxy/sluice")
	version := release().Version
	run.Tool.Driver.Version = &version
	for _, f := range r.Findings {
		code := f.Code
		if code == "" {
			code = "StaticOption"
		}
		run.AddRule(code).WithShortDescription(sarif.NewMultiformatMessageString(code))
		result := sarif.NewRuleResult(code).WithLevel(f.Severity).WithMessage(sarif.NewTextMessage(f.text))
		if f.File != "" {
			where := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(f.File))
			if f.Line > 0 {
				where.WithRegion(sarif.NewSimpleRegion(f.Line, f.Line))
			}
			result.AddLocation(sarif.NewLocationWithPhysicalLocation(where))
		}
		run.AddResult(result)
	}
	log.AddRun(run)
	if err := log.PrettyWrite(out); err != nil {
		return err
	}
	_, err = io.WriteString(out, "\n")
	return err
}
