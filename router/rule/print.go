package rule

import "github.com/sluiceproxy/sluice/dynamic"

// printNode writes a node without redundant parentheses, so that parsing gives an equivalent one.
func printNode(n node) string {
	tree := flat(treeOf(n))
	return tree.String()
}

// printCall writes one matcher.
func printCall(name string, args []string) string {
	return (&dynamic.Match{Name: name, Args: args}).String()
}

// treeOf returns a node as a tree of the model, with documented names and normalised arguments.
func treeOf(n node) dynamic.Match {
	switch n := n.(type) {
	case *and:
		return dynamic.Match{All: treesOf(n.operands)}
	case *or:
		return dynamic.Match{Any: treesOf(n.operands)}
	case *not:
		operand := treeOf(n.operand)
		return dynamic.Match{Not: &operand}
	case matcher:
		return dynamic.Match{Name: n.name(), Args: n.args()}
	}
	return dynamic.Match{}
}

func treesOf(operands []node) []dynamic.Match {
	trees := make([]dynamic.Match, 0, len(operands))
	for _, operand := range operands {
		trees = append(trees, treeOf(operand))
	}
	return trees
}

// flat returns an equivalent tree without an All in an All or an Any in an Any.
func flat(tree dynamic.Match) dynamic.Match {
	result := dynamic.Match{Name: tree.Name, Args: tree.Args}
	for _, part := range tree.All {
		if part = flat(part); len(part.All) > 0 {
			result.All = append(result.All, part.All...)
		} else {
			result.All = append(result.All, part)
		}
	}
	for _, part := range tree.Any {
		if part = flat(part); len(part.Any) > 0 {
			result.Any = append(result.Any, part.Any...)
		} else {
			result.Any = append(result.Any, part)
		}
	}
	if tree.Not != nil {
		part := flat(*tree.Not)
		result.Not = &part
	}
	return result
}
