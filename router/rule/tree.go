package rule

import (
	"errors"
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
)

// New makes a rule of a tree, by the same matchers and within the same limits as [Parse]; the text of the rule is the
// tree's. A tree may be at most 100 levels deep.
func New(tree *dynamic.Match) (*Rule, error) {
	b := builder{room: maxLength}
	root, err := b.node(tree, 0)
	if err != nil {
		return nil, err
	}
	text := tree.String()
	if len(text) > maxLength {
		return nil, errTooLong
	}
	return newRule(text, root), nil
}

var (
	errTooLong = fmt.Errorf("the rule has more than the %d bytes that are allowed", maxLength)
	errForm    = errors.New("a part of the rule is not exactly one of a matcher, All, Any and Not")
)

// builder makes the nodes of one tree.
type builder struct {
	budget budget
	// room is how many bytes the names and arguments to come may have, which bounds the nodes of a tree whose parts are
	// shared.
	room int
}

func (b *builder) node(tree *dynamic.Match, depth int) (node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the rule nests more than %d deep", maxDepth)
	}
	forms := 0
	for _, is := range []bool{
		tree.Name != "" || len(tree.Args) > 0, len(tree.All) > 0, len(tree.Any) > 0,
		tree.Not != nil,
	} {
		if is {
			forms++
		}
	}
	switch {
	case forms != 1:
		return nil, errForm
	case tree.Not != nil:
		operand, err := b.node(tree.Not, depth+1)
		if err != nil {
			return nil, err
		}
		return &not{operand: operand}, nil
	case len(tree.All) > 0:
		return b.series(tree.All, depth, conjunction)
	case len(tree.Any) > 0:
		return b.series(tree.Any, depth, disjunction)
	default:
		return b.matcher(tree)
	}
}

func (b *builder) series(parts []dynamic.Match, depth int, join func([]node) node) (node, error) {
	operands := make([]node, 0, len(parts))
	for i := range parts {
		operand, err := b.node(&parts[i], depth+1)
		if err != nil {
			return nil, err
		}
		operands = append(operands, operand)
	}
	return join(operands), nil
}

func (b *builder) matcher(tree *dynamic.Match) (node, error) {
	b.room -= len(tree.Name)
	for _, arg := range tree.Args {
		b.room -= len(arg)
	}
	if b.room < 0 {
		return nil, errTooLong
	}
	s, known := v3Matcher(tree.Name)
	if !known {
		return nil, errors.New(unknownMatcher(tree.Name, v3Names()))
	}
	n, wrong := s.matcher(tree.Args, &b.budget)
	if wrong != nil {
		return nil, errors.New(wrong.message)
	}
	return n, nil
}
