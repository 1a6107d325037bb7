package rule

// Step is one matcher's share in the outcome of a rule.
type Step struct {
	// Matcher is the matcher in canonical spelling, with "!" in front when the rule negates it.
	Matcher string
	// Matched is the result, negation included.
	Matched bool
	// Saw describes the part of the request that the matcher reads.
	Saw string
}

// String returns the matcher and what it saw.
func (s Step) String() string { return s.Matcher + ": " + s.Saw }

// Explain decides the request like [Rule.Match] and returns the matchers that brought the outcome about, in the
// order of the text: when the rule matched those that were satisfied and needed, else those that were not satisfied.
func (r *Rule) Explain(req *Request) (matched bool, steps []Step) {
	matched = r.Match(req)
	return matched, reasons(r.root, req, false, nil)
}

// reasons appends the matchers that make a node have its outcome.
func reasons(n node, req *Request, negated bool, steps []Step) []Step {
	switch n := n.(type) {
	case *not:
		return reasons(n.operand, req, !negated, steps)
	case *and:
		return seriesReasons(n, n.operands, req, negated, steps)
	case *or:
		return seriesReasons(n, n.operands, req, negated, steps)
	case matcher:
		call := printCall(n.name(), n.args())
		if negated {
			call = "!" + call
		}
		return append(steps, Step{Matcher: call, Matched: n.match(req) != negated, Saw: n.saw(req)})
	}
	return steps
}

// seriesReasons appends the reasons of those operands that have the outcome of the whole.
func seriesReasons(whole node, operands []node, req *Request, negated bool, steps []Step) []Step {
	outcome := whole.match(req)
	for _, operand := range operands {
		if operand.match(req) == outcome {
			steps = reasons(operand, req, negated, steps)
		}
	}
	return steps
}
