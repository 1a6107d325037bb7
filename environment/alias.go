package environment

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"regexp/syntax"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
)

// tagPattern is the value of a Kubernetes label, as a regular expression.
const tagPattern = `[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?`

// tagGroup is the name of the group that captures the tag. The groups of the pattern may have any other name.
const tagGroup = "sluicetag"

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
	placeholder := config.Placeholder
	if placeholder == "" {
		placeholder = dynamic.DefaultEnvironmentPlaceholder
	}
	before, after, ok := strings.Cut(config.Pattern, placeholder)
	switch {
	case !ok:
		return nil, fmt.Errorf("pattern %q does not have the placeholder %q", config.Pattern, placeholder)
	case strings.Contains(after, placeholder):
		return nil, fmt.Errorf("pattern %q has the placeholder %q more than once", config.Pattern, placeholder)
	}
	var err error // Always of package syntax.
	compiled.pattern, err = regexp.Compile(`^(?:` + before + `(?P<` + tagGroup + `>` + tagPattern + `)` + after + `)$`)
	if invalid, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, fmt.Errorf("pattern %q: %s", config.Pattern, invalid.Code)
	}
	return compiled, nil
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
	place := 2 * a.pattern.SubexpIndex(tagGroup)
	return value[found[place]:found[place+1]]
}
