package expression

import "github.com/sluiceproxy/sluice/dynamic"

// Print writes a node without redundant parentheses, so that parsing gives an equivalent one.
func Print[V any](n Node[V]) string {
	tree := flat(Tree(n))
	return tree.String()
}

// PrintCall writes one matcher.
func PrintCall(name string, args []string) string {
	return (&dynamic.Match{Name: name, Args: args}).String()
}

// Tree returns a node as a tree of the model, with documented names and normalised arguments.
func Tree[V any](n Node[V]) dynamic.Match {
	switch n := n.(type) {
	case *And[V]:
		return dynamic.Match{All: trees(n.Operands)}
	case *Or[V]:
		return dynamic.Match{Any: trees(n.Operands)}
	case *Not[V]:
		operand := Tree(n.Operand)
		return dynamic.Match{Not: &operand}
	case Matcher[V]:
		return dynamic.Match{Name: n.Name(), Args: n.Args()}
	}
	return dynamic.Match{}
}

func trees[V any](operands []Node[V]) []dynamic.Match {
	result := make([]dynamic.Match, 0, len(operands))
	for _, operand := range operands {
		result = append(result, Tree(operand))
	}
	return result
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
