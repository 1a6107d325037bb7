package gotemplate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/sluiceproxy/sluice/document"
)

// templateName stands for the template in the messages of text/template, which are template: NAME:LINE[:COLUMN]: TEXT.
const templateName = "(file)"

// Error says why a template cannot be parsed or run.
type Error struct {
	// Line is where, from 1.
	Line int
	// Reason is lower case. It contains names of functions and types, but no text of the template and no value: both may
	// be secrets.
	Reason string
}

// Error returns template: line LINE: REASON.
func (e *Error) Error() string { return fmt.Sprintf("template: line %d: %s", e.Line, e.Reason) }

// limitError is what a template gets that exceeds a limit.
type limitError string

// Error returns the message.
func (e limitError) Error() string { return string(e) }

const (
	errWork      limitError = "does too much: loops and calls of functions are limited"
	errMemory    limitError = "needs too much memory: the values of a template are limited to 128 MiB"
	errDeep      limitError = "prints or converts a value that contains itself, or is nested more than 64 levels deep"
	errCalls     limitError = "calls templates more than 100 levels deep"
	errNested    limitError = "has blocks or parentheses nested more than 200 levels deep"
	errVariables limitError = "declares too many variables and uses variables too often"
	errStopped   limitError = "was stopped"
	errNoList    limitError = "appends to something that is no list"
	errLong      limitError = "has more than 1 MiB of actions"
	errLookup    limitError = "calls getHostByName for a name that could not be resolved in time"
)

func outputError(limit int64) limitError {
	return limitError(fmt.Sprintf("generates too much: more than %d bytes", limit))
}

// kind is a kind of error of text/template: a part of the message, and what is shown in its place.
type kind struct{ contains, reason string }

// parseError returns the kind of an error of the parser. The messages of text/template quote the template.
func parseError(err error, known template.FuncMap, refused map[string]string) *Error {
	line, text := position(err)
	if _, rest, found := strings.Cut(text, `function "`); found && strings.HasSuffix(rest, `" not defined`) {
		reason := "calls an unknown function"
		name := strings.TrimSuffix(rest, `" not defined`)
		if why, ok := refused[name]; ok {
			return &Error{Line: line, Reason: "calls " + name + ", which " + why}
		}
		if near, ok := document.Nearest(name, slices.Sorted(maps.Keys(known))); ok {
			reason += fmt.Sprintf(", did you mean %q?", near)
		}
		return &Error{Line: line, Reason: reason}
	}
	return &Error{Line: line, Reason: kindOf(text, "has a syntax error in an action", []kind{
		{"undefined variable", "uses a variable that is not declared"},
		{"unexpected EOF", "ends within a block: {{ end }} is missing"},
		{"unclosed action", "has an action without }}"},
		{"unclosed comment", "has a comment without */}}"},
		{"comment ends", "has a comment without */}}"},
		{"unterminated", "has a text without its closing quote"},
		{"unclosed left paren", "has a parenthesis that is not closed"},
		{"right paren", "has a parenthesis that was not opened"},
		{"missing value for", "has an action or parentheses without a value"},
		{"unexpected {{end}}", "has an {{ end }} without a block"},
		{"unexpected {{else}}", "has an {{ else }} without a block"},
		{"outside {{range}}", "has a {{ break }} or {{ continue }} outside of {{ range }}"},
		{"number", "has a malformed number"},
		{"multiple definition", "defines a template twice"},
	})}
}

// executeError returns the kind of an error of a run.
func executeError(err error) *Error {
	line, text := position(err)
	if limit, ok := errors.AsType[limitError](err); ok {
		return &Error{Line: line, Reason: string(limit)}
	}
	for _, prefix := range []string{": error calling ", ": wrong number of args for "} {
		_, rest, found := strings.Cut(text, prefix)
		name, _, ended := strings.Cut(rest, ": ")
		if found && ended && name == "fail" {
			return &Error{Line: line, Reason: "calls fail"}
		}
		if found && ended && isName(name) {
			return &Error{Line: line, Reason: "function " + name + " fails, or has the wrong number of arguments"}
		}
	}
	return &Error{Line: line, Reason: kindOf(text, "cannot be evaluated", []kind{
		{"wrong type for value", "gives a function a value of the wrong type"},
		{"can't evaluate field", "uses a field of a value that has none of that name"},
		{"nil pointer evaluating", "uses a field of a value that does not exist"},
		{"range can't iterate", "has a {{ range }} over something that is no list, map or number"},
		{"not defined", "calls a template that is not defined"},
		{"incompatible types", "compares values of different types"},
	})}
}

// position takes the line out of a message of text/template.
func position(err error) (line int, text string) {
	rest, found := strings.CutPrefix(err.Error(), "template: "+templateName+":")
	if !found {
		return lineOfOther(err.Error()), err.Error()
	}
	number, _, _ := strings.Cut(rest, ":")
	if line, err := strconv.Atoi(number); err == nil && line > 0 {
		return line, rest
	}
	return 1, rest
}

// lineOfOther returns the line in the message about a template that is defined within the first one, whose name the
// template chooses.
func lineOfOther(text string) int {
	rest, _ := strings.CutPrefix(text, "template: ")
	for part := range strings.SplitSeq(rest, ":") {
		if line, err := strconv.Atoi(part); err == nil && line > 0 {
			return line
		}
	}
	return 1
}

func kindOf(text, otherwise string, kinds []kind) string {
	for _, kind := range kinds {
		if strings.Contains(text, kind.contains) {
			return kind.reason
		}
	}
	return otherwise
}

// isName reports whether a text can be the name of a function.
func isName(text string) bool {
	return len(text) <= 32 && text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_'
	})
}
