package docker

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"text/template"
	"unicode"

	"github.com/Masterminds/sprig/v3"
)

// longestRule bounds what the template of the default rule may generate, in bytes.
const longestRule = 64 << 10

// newRule reads the option defaultRule: a template with sprig's functions and normalize.
func newRule(text string) (*template.Template, error) {
	functions := template.FuncMap{}
	maps.Copy(functions, sprig.TxtFuncMap())
	functions["normalize"] = normalize
	rule, err := template.New("defaultRule").Funcs(functions).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("defaultRule: %w", err)
	}
	return rule, nil
}

// defaultRule returns the rule of a router of the container that has none of its own.
func defaultRule(rule *template.Template, c *container) (string, error) {
	var out bounded
	err := rule.Execute(&out, struct {
		Name, ContainerName string
		Labels              map[string]string
	}{c.service(), c.name, c.labels})
	if err != nil {
		return "", fmt.Errorf("has no rule, and defaultRule makes none: %w", err)
	}
	if strings.TrimSpace(out.String()) == "" {
		return "", errors.New("has no rule, and defaultRule makes none for it")
	}
	return out.String(), nil
}

// bounded is a text that refuses to grow beyond longestRule.
type bounded struct{ strings.Builder }

// Write refuses what is too much.
func (b *bounded) Write(text []byte) (int, error) {
	if b.Len()+len(text) > longestRule {
		return 0, fmt.Errorf("more than %d bytes", longestRule)
	}
	return b.Builder.Write(text)
}

// normalize replaces what is neither a letter nor a digit, so that a text becomes part of a name.
func normalize(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsNumber(c)
	}), "-")
}
