package expression

import "iter"

// Node is one part of a rule over values of type V: an operator or a [Matcher].
type Node[V any] interface {
	// Match reports whether the value satisfies the node.
	Match(value *V) bool
}

// Matcher is a node without operands.
type Matcher[V any] interface {
	Node[V]
	// Name is the documented spelling.
	Name() string
	// Args are the arguments in normalised form; parsing them again gives the same matcher.
	Args() []string
	// Saw describes the part of the value that the matcher reads.
	Saw(value *V) string
}

// And accepts what all of its operands accept. It has at least two.
type And[V any] struct{ Operands []Node[V] }

// Match reports whether all operands accept the value.
func (n *And[V]) Match(value *V) bool {
	for _, operand := range n.Operands {
		if !operand.Match(value) {
			return false
		}
	}
	return true
}

// Or accepts what at least one of its operands accepts. It has at least two.
type Or[V any] struct{ Operands []Node[V] }

// Match reports whether an operand accepts the value.
func (n *Or[V]) Match(value *V) bool {
	for _, operand := range n.Operands {
		if operand.Match(value) {
			return true
		}
	}
	return false
}

// Not accepts what its operand refuses.
type Not[V any] struct{ Operand Node[V] }

// Match reports whether the operand refuses the value.
func (n *Not[V]) Match(value *V) bool { return !n.Operand.Match(value) }

// Conjunction joins nodes by &&; one node stays itself.
func Conjunction[V any](nodes []Node[V]) Node[V] {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return &And[V]{Operands: nodes}
}

// Disjunction joins nodes by ||; one node stays itself.
func Disjunction[V any](nodes []Node[V]) Node[V] {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return &Or[V]{Operands: nodes}
}

// Matchers returns the matchers of a rule in the order of its text, each with whether an odd number of negations
// applies to it.
func Matchers[V any](root Node[V]) iter.Seq2[Matcher[V], bool] {
	return func(yield func(Matcher[V], bool) bool) { walk(root, false, yield) }
}

// walk yields the matchers of a node and reports whether to go on.
func walk[V any](n Node[V], negated bool, yield func(Matcher[V], bool) bool) bool {
	switch n := n.(type) {
	case *Not[V]:
		return walk(n.Operand, !negated, yield)
	case *And[V]:
		return walkAll(n.Operands, negated, yield)
	case *Or[V]:
		return walkAll(n.Operands, negated, yield)
	case Matcher[V]:
		return yield(n, negated)
	}
	return true
}

func walkAll[V any](operands []Node[V], negated bool, yield func(Matcher[V], bool) bool) bool {
	for _, operand := range operands {
		if !walk(operand, negated, yield) {
			return false
		}
	}
	return true
}
