package expression

import (
	"errors"
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
)

// FromTree makes a rule of a tree, by the same matchers and within the same limits as [Language.Parse], and returns the
// text of the tree as well. A tree may be at most [MaxDepth] levels deep. The rule shares regular expressions with
// others of the same patterns, which may be nil.
func (l Language[V]) FromTree(tree *dynamic.Match, patterns *Patterns) (root Node[V], text string, err error) {
	b := builder[V]{language: l, room: MaxLength, budget: Budget{patterns: patterns}}
	root, err = b.node(tree, 0)
	if err != nil {
		return nil, "", err
	}
	text = tree.String()
	if len(text) > MaxLength {
		return nil, "", errTooLong
	}
	return root, text, nil
}

var (
	errTooLong = fmt.Errorf("the rule has more than the %d bytes that are allowed", MaxLength)
	errForm    = errors.New("a part of the rule is not exactly one of a matcher, All, Any and Not")
)

// builder makes the nodes of one tree.
type builder[V any] struct {
	language Language[V]
	budget   Budget
	// room is how many bytes the names and arguments to come may have, which bounds the nodes of a tree whose parts are
	// shared.
	room int
}

func (b *builder[V]) node(tree *dynamic.Match, depth int) (Node[V], error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("the rule nests more than %d deep", MaxDepth)
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
		return &Not[V]{Operand: operand}, nil
	case len(tree.All) > 0:
		return b.series(tree.All, depth, Conjunction[V])
	case len(tree.Any) > 0:
		return b.series(tree.Any, depth, Disjunction[V])
	default:
		return b.matcher(tree)
	}
}

func (b *builder[V]) series(parts []dynamic.Match, depth int, join func([]Node[V]) Node[V]) (Node[V], error) {
	operands := make([]Node[V], 0, len(parts))
	for i := range parts {
		operand, err := b.node(&parts[i], depth+1)
		if err != nil {
			return nil, err
		}
		operands = append(operands, operand)
	}
	return join(operands), nil
}

func (b *builder[V]) matcher(tree *dynamic.Match) (Node[V], error) {
	b.room -= len(tree.Name)
	for _, arg := range tree.Args {
		b.room -= len(arg)
	}
	if b.room < 0 {
		return nil, errTooLong
	}
	s := b.language.find(tree.Name)
	if s == nil {
		return nil, errors.New(b.language.unknown(tree.Name))
	}
	n, wrong := s.matcher(tree.Args, &b.budget)
	if wrong != nil {
		return nil, errors.New(wrong.Message)
	}
	return n, nil
}
