package rule

import "github.com/sluiceproxy/sluice/dynamic"

// Tree returns the tree of a rule, with documented names and normalised arguments.
func (r *Rule) Tree() dynamic.Match { return treeOf(r.root) }

// Names returns the names of the matchers.
func Names() []string { return v3Names() }
