// Package pathmodifier replaces a path or its prefix, for redirects and rewrites.
package pathmodifier

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

// Modifier replaces paths.
type Modifier struct {
	// full replaces the whole path; empty replaces prefix.
	full string
	// prefix and replacement have no slash at their ends.
	prefix, replacement string
}

// New validates a definition, of which exactly one replacement is set; paths begin with a slash, and have neither dot
// segments nor empty ones. An error begins with the name of the option.
func New(option string, config *dynamic.PathModifier) (*Modifier, error) {
	switch {
	case config.FullPath != nil && config.ReplacePrefixMatch != nil:
		return nil, fmt.Errorf("%s has both fullPath and replacePrefixMatch", option)
	case config.FullPath == nil && config.ReplacePrefixMatch == nil:
		return nil, fmt.Errorf("%s has neither fullPath nor replacePrefixMatch", option)
	case config.FullPath != nil && config.Prefix != "":
		return nil, fmt.Errorf("%s.prefix has no meaning for fullPath", option)
	}
	m := new(Modifier)
	for _, one := range []struct {
		name string
		text *string
		to   *string
	}{
		{"fullPath", config.FullPath, &m.full},
		{"replacePrefixMatch", config.ReplacePrefixMatch, &m.replacement},
		{"prefix", &config.Prefix, &m.prefix},
	} {
		if one.text == nil {
			continue
		}
		path, err := literal(*one.text)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %q: %w", option, one.name, *one.text, err)
		}
		*one.to = path
	}
	m.prefix, m.replacement = strings.TrimSuffix(m.prefix, "/"), strings.TrimSuffix(m.replacement, "/")
	return m, nil
}

var errNoSlash = errors.New("does not begin with a slash")

// literal returns an escaped path; an empty one is /.
func literal(text string) (string, error) {
	if text == "" {
		return "/", nil
	}
	if !strings.HasPrefix(text, "/") {
		return "", errNoSlash
	}
	return canonical.Literal(text)
}

// Path returns the escaped path that replaces one. It is not ok where the path does not begin with the segments of the
// prefix and stays as it is.
func (m *Modifier) Path(escaped string) (path string, ok bool) {
	if m.full != "" {
		return m.full, true
	}
	rest, found := strings.CutPrefix(escaped, m.prefix)
	if !found || rest != "" && rest[0] != '/' {
		return escaped, false
	}
	if path = m.replacement + rest; path == "" {
		path = "/"
	}
	return path, true
}
