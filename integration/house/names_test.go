package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// metric matches the name of a metric of ours in code and in prose.
var metric = regexp.MustCompile(`^(?:traefik|sluice)_[a-z][a-z0-9_]*$`)

// requestMetric matches the part of the name of a metric of requests that follows the kind of owner.
var requestMetric = regexp.MustCompile(`^(?:requests_total|requests_tls_total|request_duration_seconds|(?:requests|responses)_bytes_total)$`)

// quoted matches what a page sets as code within a line.
var quoted = regexp.MustCompile("`([^`\n]+)`")

// metricsPage is where every metric is described.
const metricsPage = "docs/reference/metrics.md"

// TestMetricsAreDocumented demands that the documentation names the metrics that there are: no other, and each of them
// on the page of metrics.
func TestMetricsAreDocumented(t *testing.T) {
	declared := literals(t, "telemetry/metrics", metric)
	// Composed by the collector, for each kind of owner.
	for name := range literals(t, "telemetry/metrics", requestMetric) {
		for _, owner := range []string{"entrypoint", "router", "service"} {
			declared["traefik_"+owner+"_"+name] = true
		}
	}
	described := map[string]bool{}
	for _, page := range pages(t) {
		for i, line := range page.lines {
			for _, match := range quoted.FindAllStringSubmatch(line, -1) {
				name, _, _ := strings.Cut(match[1], "{")
				if !metric.MatchString(name) {
					continue
				}
				if !declared[name] {
					t.Errorf("%s:%d: there is no metric %s", page.path, i+1, name)
				}
				if page.path == metricsPage {
					described[name] = true
				}
			}
		}
	}
	for name := range declared {
		if !described[name] {
			t.Errorf("%s: does not describe the metric %s", metricsPage, name)
		}
	}
	if len(declared) == 0 {
		t.Error("telemetry declares no metric")
	}
}

// literals collects the string literals of a folder's code (without its subfolders) that match.
func literals(t *testing.T, in string, pattern *regexp.Regexp) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, folder := range load(t).folders {
		if folder.path != in {
			continue
		}
		for _, file := range folder.files {
			if file.test {
				continue
			}
			ast.Inspect(file.syntax, func(node ast.Node) bool {
				if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if value, err := strconv.Unquote(literal.Value); err == nil && pattern.MatchString(value) {
						found[value] = true
					}
				}
				return true
			})
		}
	}
	return found
}

// sluiceFlag matches a flag on a line that calls sluice.
var sluiceFlag = regexp.MustCompile(`(?:^|\s)--?([A-Za-z][A-Za-z0-9.\[\]-]*)`)

// sluiceCall matches such a line.
var sluiceCall = regexp.MustCompile(`(?:^|[\s/])sluice\s.*`)

// TestFlagsExist demands that every flag in a command of the documentation is one of a subcommand or a static option.
func TestFlagsExist(t *testing.T) {
	own := literals(t, "cmd/sluice", regexp.MustCompile(`^[a-zA-Z][a-zA-Z-]*$`))
	options := map[string]bool{"configfile": true, "help": true}
	for _, option := range static.Options() {
		options[strings.ToLower(option.Path)] = true
	}
	for _, page := range pages(t) {
		for i, line := range page.lines {
			for _, command := range commands(line) {
				for _, match := range sluiceFlag.FindAllStringSubmatch(command, -1) {
					if !own[match[1]] && !knownOption(options, match[1]) {
						t.Errorf("%s:%d: there is no flag %s: %s", page.path, i+1, match[1], command)
					}
				}
			}
		}
	}
}

// commands returns the calls of sluice on a line of a page: those within backticks, or the line itself when it is
// nothing else.
func commands(line string) []string {
	var found []string
	for _, match := range quoted.FindAllStringSubmatch(line, -1) {
		if sluiceCall.MatchString(match[1]) {
			found = append(found, match[1])
		}
	}
	if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "sluice ") {
		found = append(found, trimmed)
	}
	return found
}

// knownOption reports whether a flag is a static option, where any element of its path may be a name that the user
// chose.
func knownOption(options map[string]bool, flag string) bool {
	elements := strings.Split(strings.ToLower(flag), ".")
	if options[strings.Join(elements, ".")] {
		return true
	}
	for i := range elements {
		chosen := append([]string{}, elements...)
		chosen[i] = "<name>"
		if options[strings.Join(chosen, ".")] {
			return true
		}
	}
	return false
}
