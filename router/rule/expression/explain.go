package expression

import (
	"strconv"
	"strings"
)

// Step is one matcher's share in the outcome of a rule.
type Step struct {
	// Matcher is the matcher in canonical spelling, with "!" in front when the rule negates it.
	Matcher string
	// Matched is the result, negation included.
	Matched bool
	// Saw describes the part of the value that the matcher reads.
	Saw string
}

// String returns the matcher and what it saw.
func (s Step) String() string { return s.Matcher + ": " + s.Saw }

// Explain decides a value and returns the matchers that brought the outcome about, in the order of the text: when the
// rule matched those that were satisfied and needed, else those that were not satisfied.
func Explain[V any](root Node[V], value *V) (matched bool, steps []Step) {
	return root.Match(value), reasons(root, value, false, nil)
}

// reasons appends the matchers that make a node have its outcome.
func reasons[V any](n Node[V], value *V, negated bool, steps []Step) []Step {
	switch n := n.(type) {
	case *Not[V]:
		return reasons(n.Operand, value, !negated, steps)
	case *And[V]:
		return seriesReasons(n, n.Operands, value, negated, steps)
	case *Or[V]:
		return seriesReasons(n, n.Operands, value, negated, steps)
	case Matcher[V]:
		call := PrintCall(n.Name(), n.Args())
		if negated {
			call = "!" + call
		}
		return append(steps, Step{Matcher: call, Matched: n.Match(value) != negated, Saw: n.Saw(value)})
	}
	return steps
}

// seriesReasons appends the reasons of those operands that have the outcome of the whole.
func seriesReasons[V any](whole Node[V], operands []Node[V], value *V, negated bool, steps []Step) []Step {
	outcome := whole.Match(value)
	for _, operand := range operands {
		if operand.Match(value) == outcome {
			steps = reasons(operand, value, negated, steps)
		}
	}
	return steps
}

// List lists values for a description, each in quotes and no more than a few.
func List(values []string) string {
	const most = 4
	quoted := make([]string, 0, most+1)
	for _, value := range values[:min(len(values), most)] {
		quoted = append(quoted, strconv.Quote(Clip(value)))
	}
	if len(values) > most {
		quoted = append(quoted, strconv.Itoa(len(values)-most)+" more")
	}
	return strings.Join(quoted, ", ")
}
