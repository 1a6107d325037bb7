package rule

import (
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// Rule is one parsed rule. It is immutable and safe for concurrent use. The zero value is not usable, see [Parse] and
// [New].
type Rule struct {
	// room is for the program of a short rule, which then comes from memory together with the rule.
	room    [2]instruction
	program []instruction
	text    string
	root    node
}

// Parse reads a rule in the v3 language. A failure is always an [*Error], which names the column.
func Parse(text string) (*Rule, error) {
	root, err := v3().Parse(text)
	if err != nil {
		return nil, err
	}
	return newRule(text, root), nil
}

// New makes a rule of a tree, by the same matchers and within the same limits as [Parse]; the text of the rule is the
// tree's. A tree may be at most 100 levels deep.
func New(tree *dynamic.Match) (*Rule, error) { return NewShared(tree, nil) }

// NewShared is [New] for a rule that shares regular expressions with others of the same patterns.
func NewShared(tree *dynamic.Match, patterns *Patterns) (*Rule, error) {
	root, text, err := v3().FromTree(tree, patterns)
	if err != nil {
		return nil, err
	}
	return newRule(text, root), nil
}

func newRule(text string, root node) *Rule {
	r := &Rule{text: text, root: root}
	r.program = compile(r.room[:0], root)
	return r
}

// Match reports whether the request satisfies the rule. It allocates nothing, except that the first Query or
// QueryRegexp matcher that is evaluated parses the query string.
func (r *Rule) Match(req *Request) bool { return run(r.program, req) }

// String returns the rule as it was written, or the text of its tree.
func (r *Rule) String() string { return r.text }

// Length returns the number of bytes of String, which is the priority of a router that names none.
func (r *Rule) Length() int { return len(r.text) }

// Canonical returns the rule in one spelling: documented names, backticks where possible, single spaces, hosts in
// lower case and no redundant parentheses. Parsing it gives an equivalent rule.
func (r *Rule) Canonical() string { return expression.Print(r.root) }

// Explain decides the request like [Rule.Match] and returns the matchers that brought the outcome about, in the
// order of the text: when the rule matched those that were satisfied and needed, else those that were not satisfied.
func (r *Rule) Explain(req *Request) (matched bool, steps []Step) {
	return expression.Explain(r.root, req)
}
