package static

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The prefixes of variables that are options.
const (
	environmentPrefix = "SLUICE_"
	traefikPrefix     = "TRAEFIK_"
)

// environmentSource precedes the name of a variable where it is the source of a value.
const environmentSource = "environment "

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

// configFile returns the configuration file that a variable names, or "".
func (e environment) configFile() string {
	option := strings.ToUpper(configFileOption)
	return cmp.Or(e.value(environmentPrefix+option), e.value(traefikPrefix+option))
}

// readEnvironment merges the variables into the document: those of Traefik first, so that Sluice's own override them.
func (l *loader) readEnvironment(environ environment) {
	read := l.readVariables(environ, traefikPrefix)
	if len(read) > 0 {
		l.report(Info, environmentSource+traefikPrefix+"*", 0, "", fmt.Sprintf(
			"read in addition to %s*, which override them option by option: %s", environmentPrefix, strings.Join(read, ", ")))
	}
	l.readVariables(environ, environmentPrefix)
}

// readVariables merges the variables with a prefix into the document, in the order of their names, and returns the
// names of those that are options. One that is none is a warning, since the environment is shared with other programs.
// The variables that Kubernetes sets for a Service named like the prefix are ignored.
func (l *loader) readVariables(environ environment, prefix string) (read []string) {
	names := environmentNaming(prefix)
	injected := regexp.MustCompile(`^` + prefix +
		`([A-Z0-9]+_)*(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)
	byName := func(a, b string) int {
		first, _, _ := strings.Cut(a, "=")
		second, _, _ := strings.Cut(b, "=")
		return strings.Compare(first, second)
	}
	for _, variable := range slices.SortedStableFunc(slices.Values(environ), byName) {
		name, value, ok := strings.Cut(variable, "=")
		rest, prefixed := strings.CutPrefix(name, prefix)
		if !ok || !prefixed {
			continue
		}
		var unknown *unknownName
		source := environmentSource + name
		if !strings.EqualFold(rest, configFileOption) {
			unknown = l.set(names, rest, value, source)
		}
		switch {
		case unknown == nil:
			read = append(read, name)
		case !injected.MatchString(name):
			l.report(Warning, source, 0, "", names.reason(l.schema, unknown, "is not an option and is ignored"))
		}
	}
	return slices.Compact(read)
}
