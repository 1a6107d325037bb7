package environment

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"regexp/syntax"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TagPattern is the form of a tag in the pattern of an alias: the value of a Kubernetes label, as a regular expression.
const TagPattern = `[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?`

// TagGroup is the name of the group that captures the tag. The groups of the pattern may have any other name.
const TagGroup = "sluicetag"

// alias is a compiled dynamic.EnvironmentAlias.
type alias struct {
	header string
	// pattern captures the tag; nil means the whole value.
	pattern *regexp.Regexp
}

func newAlias(config *dynamic.EnvironmentAlias) (*alias, error) {
	if !httpguts.ValidHeaderFieldName(config.Name) {
		return nil, fmt.Errorf("name %q is not the name of a header", config.Name)
	}
	compiled := &alias{header: http.CanonicalHeaderKey(config.Name)}
	if config.Pattern == "" {
		return compiled, nil
	}
	before, after, err := SplitPattern(config)
	if err != nil {
		return nil, err
	}
	// The error is always of package syntax.
	compiled.pattern, err = regexp.Compile(`^(?:` + before + `(?P<` + TagGroup + `>` + TagPattern + `)` + after + `)$`)
	if invalid, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, fmt.Errorf("pattern %q: %s", config.Pattern, invalid.Code)
	}
	if compiled.pattern.SubexpIndex(TagGroup) < 0 {
		return nil, fmt.Errorf("pattern %q has the placeholder where no group can be", config.Pattern)
	}
	return compiled, nil
}

// SplitPattern returns the parts of an alias's pattern before and after the placeholder.
func SplitPattern(config *dynamic.EnvironmentAlias) (before, after string, err error) {
	placeholder := cmp.Or(config.Placeholder, dynamic.DefaultEnvironmentPlaceholder)
	before, after, ok := strings.Cut(config.Pattern, placeholder)
	switch {
	case !ok:
		return "", "", fmt.Errorf("pattern %q does not have the placeholder %q", config.Pattern, placeholder)
	case strings.Contains(after, placeholder):
		return "", "", fmt.Errorf("pattern %q has the placeholder %q more than once", config.Pattern, placeholder)
	}
	return before, after, nil
}

// tag returns the tag in a value of the header; empty if there is none.
func (a *alias) tag(value string) string {
	if a.pattern == nil {
		return value
	}
	found := a.pattern.FindStringSubmatchIndex(value)
	if found == nil {
		return ""
	}
	place := 2 * a.pattern.SubexpIndex(TagGroup)
	if found[place] < 0 { // The part with the placeholder may be left out.
		return ""
	}
	return value[found[place]:found[place+1]]
}
