package static

import (
	"regexp"
	"slices"
	"strings"
)

// environmentPrefix is how the name of a variable begins that is an option.
const environmentPrefix = "SLUICE_"

// configFileOption is the name of the option that exists only as a flag and as a variable.
const configFileOption = "configFile"

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

// readEnvironment merges the variables into root, in the order of their names. A variable that means nothing is a
// warning, since the environment is shared with other programs. The variables that Kubernetes sets for a Service
// named sluice are ignored.
func readEnvironment(environ environment, root *setting, r *report) {
	names := environmentResolver()
	injected := regexp.MustCompile(`^SLUICE_([A-Z0-9]+_)*(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)
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
		from := origin{file: "environment " + name, rank: rankEnvironment}
		if injected.MatchString(name) && !names.means(root, rest) {
			continue
		}
		steps, unknown := names.resolve(root.option, root, names.words(rest))
		if unknown != nil {
			reason := "is no option and is ignored"
			if near := unknown.spelled(names); near != "" {
				reason += "; did you mean " + environmentPrefix + near + "?"
			}
			r.add(Warning, from, "", reason)
			continue
		}
		write(open(root, steps, from), value, from, r)
	}
}

// means reports whether the name is that of an option.
func (r resolver) means(root *setting, name string) bool {
	_, unknown := r.resolve(root.option, root, r.words(name))
	return unknown == nil
}
