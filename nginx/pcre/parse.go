package pcre

import (
	"slices"
	"strconv"
	"strings"
)

// parser reads a pattern.
type parser struct {
	text  string
	at    int
	depth int
	// fold and dotall are the options i and s at this place.
	fold, dotall bool
	// quoting is set between \Q and \E.
	quoting bool
	names   []string
}

func (p *parser) unsupported(construct string, offset int) error {
	return &UnsupportedError{Construct: construct, Offset: offset}
}

func (p *parser) invalid(reason string, offset int) error {
	return &SyntaxError{Reason: reason, Offset: offset}
}

// rest returns what has not been read.
func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) more() bool { return p.at < len(p.text) }

// skip skips a text if it comes next.
func (p *parser) skip(text string) bool {
	if strings.HasPrefix(p.rest(), text) {
		p.at += len(text)
		return true
	}
	return false
}

// pattern reads the whole text.
func (p *parser) pattern() (*node, error) {
	if i := strings.IndexByte(p.text, 0); i >= 0 {
		return nil, p.invalid("NUL", i)
	}
	root, err := p.alternation()
	if err == nil && p.more() {
		err = p.invalid("an unmatched closing parenthesis", p.at)
	}
	return root, err
}

// alternation reads up to the end of a group, whose options end there.
func (p *parser) alternation() (*node, error) {
	fold, dotall := p.fold, p.dotall
	defer func() { p.fold, p.dotall = fold, dotall }()
	all := &node{op: opAlternate}
	for {
		one, err := p.concatenation()
		if err != nil {
			return nil, err
		}
		all.subs = append(all.subs, one)
		if p.quoting || !p.skip("|") {
			break
		}
	}
	if len(all.subs) == 1 {
		return all.subs[0], nil
	}
	return all, nil
}

func (p *parser) concatenation() (*node, error) {
	all := &node{op: opConcat}
	for p.blank(); p.more() && (p.quoting || !strings.ContainsRune("|)", rune(p.text[p.at]))); p.blank() {
		start := p.at
		one, err := p.item()
		if err != nil {
			return nil, err
		}
		p.blank()
		if !p.quoting {
			if one, err = p.quantified(one, start); err != nil {
				return nil, err
			}
		}
		if one != nil {
			all.subs = append(all.subs, one)
		}
	}
	return all, nil
}

// blank reads what is between items and stands for nothing: comments, and the marks of literal text.
func (p *parser) blank() {
	for {
		switch {
		case p.skip(`\E`):
			p.quoting = false
		case p.quoting:
			return
		case p.skip(`\Q`):
			p.quoting = true
		case strings.HasPrefix(p.rest(), "(?#") && strings.Contains(p.rest(), ")"):
			p.at += strings.IndexByte(p.rest(), ')') + 1
		default:
			return
		}
	}
}

// item reads one item without its quantifier. It is nil for options.
func (p *parser) item() (*node, error) {
	start := p.at
	c := p.text[p.at]
	p.at++
	if p.quoting {
		return p.literal(c), nil
	}
	switch c {
	case '^':
		return &node{op: opAssertion, text: begin}, nil
	case '$':
		return &node{op: opAssertion, text: end}, nil
	case '.':
		if p.dotall {
			return &node{set: set{}.complement()}, nil
		}
		return &node{set: single('\n').complement()}, nil
	case '[':
		return p.class()
	case '(':
		return p.group()
	case '\\':
		return p.escape()
	case '*', '+', '?':
		return nil, p.invalid("a quantifier without an operand", start)
	case '{':
		p.at = start
		_, _, is, err := p.count()
		if is {
			err = p.invalid("a quantifier without an operand", start)
		}
		p.at = start + 1
		return p.literal(c), err
	default:
		return p.literal(c), nil
	}
}

func (p *parser) literal(c byte) *node {
	s := single(c)
	if p.fold {
		s = s.folded()
	}
	return &node{set: s}
}

// quantified reads the quantifier of an item that begins at start, if it has one.
func (p *parser) quantified(one *node, start int) (*node, error) {
	at := p.at
	low, high, is, err := p.quantifier()
	if err != nil || !is {
		return one, err
	}
	n := &node{op: opRepeat, min: low, max: high, subs: []*node{one}}
	switch {
	case one == nil:
		return nil, p.invalid("a quantifier without an operand", at)
	case one.op == opAssertion:
		return nil, p.unsupported("quantifier of an assertion", at)
	case p.skip("+"):
		return nil, p.unsupported("possessive quantifier", at)
	case high < 0 && one.nullable() && one.captures():
		// How often the group takes part with nothing is different.
		return nil, p.unsupported("unlimited repetition of a group that can be empty", start)
	}
	n.lazy = p.skip("?")
	p.blank()
	if _, _, again, err := p.quantifier(); again || err != nil {
		return nil, p.unsupported("quantifier of a quantifier", at)
	}
	return n, nil
}

// quantifier reads a quantifier without its suffix; high is -1 when it has no upper bound.
func (p *parser) quantifier() (low, high int, is bool, err error) {
	switch {
	case p.quoting:
		return 0, 0, false, nil
	case p.skip("*"):
		return 0, -1, true, nil
	case p.skip("+"):
		return 1, -1, true, nil
	case p.skip("?"):
		return 0, 1, true, nil
	default:
		return p.count()
	}
}

// count reads a counted quantifier. A brace that begins none is literal.
func (p *parser) count() (low, high int, is bool, err error) {
	start := p.at
	text, found := strings.CutPrefix(p.rest(), "{")
	text, _, closed := strings.Cut(text, "}")
	if !found || !closed || strings.Trim(text, "0123456789, \t") != "" || !strings.ContainsAny(text, "0123456789") {
		return 0, 0, false, nil
	}
	first, second, bounded := strings.Cut(text, ",")
	if first == "" || strings.ContainsAny(text, " \t") || strings.Contains(second, ",") {
		// A quantifier since PCRE2 10.43, literal before.
		return 0, 0, false, p.unsupported("quantifier with spaces or without a lower bound", start)
	}
	p.at += len("{") + len(text) + len("}")
	low, err = p.number(first, start)
	high = low
	switch {
	case err != nil:
	case bounded && second == "":
		high = -1
	case bounded:
		if high, err = p.number(second, start); err == nil && high < low {
			err = p.invalid("the bounds of a quantifier in the wrong order", start)
		}
	}
	return low, high, true, err
}

func (p *parser) number(digits string, start int) (int, error) {
	const most = 65535
	number, err := strconv.Atoi(digits)
	switch {
	case err != nil || number > most:
		return 0, p.invalid("a number above "+strconv.Itoa(most)+" in a quantifier", start)
	case number > maxRepeat:
		return 0, p.unsupported("repetition above "+strconv.Itoa(maxRepeat), start)
	default:
		return number, nil
	}
}

// capture reads the rest of a capturing group.
func (p *parser) capture(start int, name string) (*node, error) {
	if name != "" && slices.Contains(p.names, name) {
		return nil, p.invalid("two groups with one name", start)
	}
	p.names = append(p.names, name)
	return p.enclosed(start, opCapture)
}

// enclosed reads the rest of a group.
func (p *parser) enclosed(start int, kind op) (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.unsupported("nesting deeper than "+strconv.Itoa(maxDepth), start)
	}
	content, err := p.alternation()
	if err != nil {
		return nil, err
	}
	p.depth--
	if p.quoting || !p.skip(")") {
		return nil, p.invalid("a group that does not end", start)
	}
	return &node{op: kind, subs: []*node{content}}, nil
}
