package static

import (
	"regexp"
	"slices"
	"strings"
)

// environmentPrefix is how the name of a variable begins that is an option.
const environmentPrefix = "SLUICE_"

// environmentSource precedes the name of a variable where it is the source of a value.
const environmentSource = "environment "

// configFileOption is the name of the option that exists only as a flag and as a variable.
const configFileOption = "CONFIGFILE"

// environment holds variables as NAME=value.
type environment []string

// value returns the last value of a variable, or "".
func (e environment) value(name string) string {
	for _, variable := range slices.Backward(e) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// readEnvironment merges the variables into the document, in the order of their names. A variable that means nothing is
// a warning, since the environment is shared with other programs. The variables that Kubernetes sets for a Service
// named sluice are ignored.
func (l *loader) readEnvironment(environ environment) {
	names := environmentNaming()
	injected := regexp.MustCompile(
		`^SLUICE_([A-Z0-9]+_)*(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)
	byName := func(a, b string) int {
		first, _, _ := strings.Cut(a, "=")
		second, _, _ := strings.Cut(b, "=")
		return strings.Compare(first, second)
	}
	for _, variable := range slices.SortedStableFunc(slices.Values(environ), byName) {
		name, value, ok := strings.Cut(variable, "=")
		rest, prefixed := strings.CutPrefix(name, environmentPrefix)
		if !ok || !prefixed || strings.EqualFold(rest, configFileOption) {
			continue
		}
		source := environmentSource + name
		unknown := l.set(names, rest, value, source)
		if unknown != nil && !injected.MatchString(name) {
			l.report(Warning, source, 0, "", "is no option and is ignored"+names.hint(unknown))
		}
	}
}
