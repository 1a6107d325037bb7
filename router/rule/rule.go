package rule

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
	root, err := parse(text, v3Matcher, v3Names())
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
func (r *Rule) Canonical() string { return printNode(r.root) }
