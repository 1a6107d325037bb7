package rule

import (
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/rule/expression"
)

const (
	maxLength  = expression.MaxLength
	maxDepth   = expression.MaxDepth
	maxPattern = expression.MaxPattern
)

// Tree returns the tree of a rule, with documented names and normalised arguments.
func (r *Rule) Tree() dynamic.Match { return expression.Tree(r.root) }

// Names returns the names of the matchers.
func Names() []string { return v3().Names() }
