package static

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says what a finding means for the start of Sluice.
type Severity int

// The severities, from the gravest to the least.
const (
	// Error stops the start: an option is unknown, wrong, or cannot be honoured.
	Error Severity = iota
	// Warning lets Sluice start; something behaves otherwise than the configuration says.
	Warning
	// Info lets Sluice start; everything behaves as the configuration says.
	Info
	// Debug lets Sluice start; the option has no effect, by design.
	Debug
)

// String returns error, warning, info or debug.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Info:
		return "info"
	default:
		return "debug"
	}
}

// Finding is one thing that was noticed about the static configuration.
type Finding struct {
	// Severity says whether Sluice can start.
	Severity Severity
	// File is the configuration file, or "environment NAME", or "flag --NAME"; it is empty when the finding concerns a
	// default.
	File string
	// Line is the line in the file, counted from 1; it is 0 when there is none.
	Line int
	// Option is the path of the option, such as entryPoints.web.address; it is empty when the finding concerns a whole
	// file.
	Option string
	// Reason says what is wrong and what is expected, in one sentence without a full stop.
	Reason string
}

// String returns the finding in one line, without its severity: FILE:LINE: option PATH: REASON.
func (f Finding) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		b.WriteString(": ")
	}
	if f.Option != "" {
		fmt.Fprintf(&b, "option %s: ", f.Option)
	}
	b.WriteString(f.Reason)
	return b.String()
}

// rank orders findings by their sources: the file, the environment, flags, defaults.
func (f Finding) rank() int {
	switch {
	case strings.HasPrefix(f.File, environmentSource):
		return 1
	case strings.HasPrefix(f.File, flagSource):
		return 2
	case f.File == "":
		return 3
	default:
		return 0
	}
}

// report adds a finding. An empty source is the configuration file if there is a line, and else a default.
func (l *loader) report(severity Severity, source string, line int, option, reason string) {
	if source == "" && line > 0 {
		source = l.File
	}
	l.findings = append(l.findings, Finding{Severity: severity, File: source, Line: line, Option: option, Reason: reason})
}

// FlagErrors reports whether one of the findings that stop the start is about a flag.
func FlagErrors(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(finding Finding) bool {
		return finding.Severity == Error && strings.HasPrefix(finding.File, flagSource)
	})
}

// HasErrors reports whether one of the findings stops the start.
func HasErrors(findings []Finding) bool {
	for _, finding := range findings {
		if finding.Severity == Error {
			return true
		}
	}
	return false
}
