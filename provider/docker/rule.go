package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// longestRule is the maximum output of the default rule's template in bytes.
const longestRule = 64 << 10

// newRule parses the option defaultRule.
func newRule(text string) (*gotemplate.Template, error) {
	rule, err := gotemplate.Parse(text, nil)
	if err != nil {
		return nil, fmt.Errorf("defaultRule: %w", err)
	}
	return rule, nil
}

// defaultRule returns the default rule for a container. The template is that of the operator and is not stopped at
// shutdown.
func defaultRule(rule *gotemplate.Template, c *container) (string, error) {
	out, err := rule.Execute(context.Background(), struct {
		Name, ContainerName string
		Labels              map[string]string
	}{c.service(), c.name, c.labels}, longestRule)
	if err != nil {
		return "", fmt.Errorf("has no rule, and defaultRule makes none: %w", err)
	}
	text := string(out)
	if strings.TrimSpace(text) == "" {
		return "", errors.New("has no rule, and defaultRule makes none for it")
	}
	return text, nil
}
