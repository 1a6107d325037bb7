package rule

// node is one part of a rule: an operator or a matcher.
type node interface {
	match(*Request) bool
}

// matcher is a node without operands.
type matcher interface {
	node
	// name is the documented spelling.
	name() string
	// args are the arguments in normalised form; parsing them again gives the same matcher.
	args() []string
	// saw describes the part of the request that the matcher reads.
	saw(*Request) string
}

// keyed is a matcher that an index can find requests by.
type keyed interface {
	matcher
	// key returns a key that holds for every request that the matcher accepts.
	key() Key
}

// and accepts what all of its operands accept.
type and struct{ operands []node }

func (n *and) match(r *Request) bool {
	for _, operand := range n.operands {
		if !operand.match(r) {
			return false
		}
	}
	return true
}

// or accepts what at least one of its operands accepts.
type or struct{ operands []node }

func (n *or) match(r *Request) bool {
	for _, operand := range n.operands {
		if operand.match(r) {
			return true
		}
	}
	return false
}

// not accepts what its operand refuses.
type not struct{ operand node }

func (n *not) match(r *Request) bool { return !n.operand.match(r) }

// conjunction joins nodes by &&; one node stays itself.
func conjunction(nodes []node) node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return &and{operands: nodes}
}

// disjunction joins nodes by ||; one node stays itself.
func disjunction(nodes []node) node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return &or{operands: nodes}
}
