package rule

import (
	"fmt"
	"unicode/utf8"
)

const (
	// maxLength bounds the bytes of a rule.
	maxLength = 256 << 10
	// maxDepth bounds how deeply parentheses and negations may nest, and with it the stack of everything that walks a
	// rule.
	maxDepth = 100
)

// spec describes a matcher for the parser.
type spec struct {
	name     string
	min, max int
	build    func(args []string, b *budget) (node, *fault)
}

// parser reads one rule by recursive descent, one token ahead.
type parser struct {
	lexer  lexer
	token  token
	depth  int
	lookup func(name string) (spec, bool)
	names  []string
	budget budget
}

// parse parses a whole text with the matchers of lookup.
func parse(text string, lookup func(string) (spec, bool), names []string) (node, error) {
	if len(text) > maxLength {
		return nil, &Error{
			Column:  maxLength + 1,
			Message: fmt.Sprintf("the rule has %d bytes, more than the %d that are allowed", len(text), maxLength),
		}
	}
	if column := invalidUTF8(text); column > 0 {
		return nil, &Error{Column: column, Message: "the rule is not valid UTF-8"}
	}
	p := &parser{lexer: lexer{text: text}, lookup: lookup, names: names}
	root, err := p.whole()
	if err != nil {
		return nil, err
	}
	return root, nil
}

// invalidUTF8 returns the column of the first byte that is not UTF-8, or 0.
func invalidUTF8(text string) int {
	for i, c := range text {
		if c != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			return i + 1
		}
	}
	return 0
}

func (p *parser) whole() (node, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.token.kind == kindEnd {
		return nil, &Error{Column: 1, Message: "the rule is empty"}
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	switch p.token.kind {
	case kindEnd:
		return root, nil
	case kindClose:
		return nil, p.failf("unbalanced parenthesis: \")\" closes nothing")
	default:
		return nil, p.failf("expected && or || before %s", p.token)
	}
}

func (p *parser) advance() *Error {
	var err *Error
	p.token, err = p.lexer.next()
	return err
}

// failf blames the current token.
func (p *parser) failf(format string, values ...any) *Error {
	return &Error{Column: p.token.column, Message: fmt.Sprintf(format, values...)}
}

func (p *parser) or() (node, *Error) { return p.series(kindOr, p.and, disjunction) }

func (p *parser) and() (node, *Error) { return p.series(kindAnd, p.unary, conjunction) }

// series reads operands that are separated by one operator.
func (p *parser) series(operator kind, operand func() (node, *Error), join func([]node) node) (node, *Error) {
	var operands []node
	for {
		n, err := operand()
		if err != nil {
			return nil, err
		}
		operands = append(operands, n)
		if p.token.kind != operator {
			return join(operands), nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) unary() (node, *Error) {
	switch p.token.kind {
	case kindNot:
		return p.nested(p.negation)
	case kindOpen:
		return p.nested(p.group)
	case kindName:
		return p.matcher()
	case kindClose:
		return nil, p.failf("expected a matcher before \")\"")
	default:
		return nil, p.failf("expected a matcher, found %s", p.token)
	}
}

// nested reads something that may contain itself, within the allowed depth.
func (p *parser) nested(read func() (node, *Error)) (node, *Error) {
	if p.depth == maxDepth {
		return nil, p.failf("parentheses and negations nest more than %d deep", maxDepth)
	}
	p.depth++
	defer func() { p.depth-- }()
	return read()
}

func (p *parser) negation() (node, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	operand, err := p.unary()
	if err != nil {
		return nil, err
	}
	return &not{operand: operand}, nil
}

func (p *parser) group() (node, *Error) {
	open := p.token
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	switch p.token.kind {
	case kindClose:
		return n, p.advance()
	case kindEnd:
		return nil, unclosed(open)
	default:
		return nil, p.failf("expected &&, || or \")\" before %s", p.token)
	}
}

func unclosed(open token) *Error {
	return &Error{Column: open.column, Message: "unbalanced parenthesis: \"(\" is never closed"}
}
