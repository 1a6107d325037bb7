package expression

import (
	"fmt"
	"unicode/utf8"
)

const (
	// MaxLength bounds the bytes of a rule.
	MaxLength = 256 << 10
	// MaxDepth bounds how deeply parentheses and negations may nest, and with it the stack of everything that walks a
	// rule.
	MaxDepth = 100
)

// parser reads one rule by recursive descent, one token ahead.
type parser[V any] struct {
	lexer    lexer
	token    token
	depth    int
	language Language[V]
	budget   Budget
}

// Parse reads a rule of the language. A failure is always an [*Error], which names the column.
func (l Language[V]) Parse(text string) (Node[V], error) {
	if len(text) > MaxLength {
		return nil, &Error{
			Column:  MaxLength + 1,
			Message: fmt.Sprintf("the rule has %d bytes, more than the %d that are allowed", len(text), MaxLength),
		}
	}
	if column := invalidUTF8(text); column > 0 {
		return nil, &Error{Column: column, Message: "the rule is not valid UTF-8"}
	}
	p := &parser[V]{lexer: lexer{text: text}, language: l}
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

func (p *parser[V]) whole() (Node[V], *Error) {
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

func (p *parser[V]) advance() *Error {
	var err *Error
	p.token, err = p.lexer.next()
	return err
}

// failf blames the current token.
func (p *parser[V]) failf(format string, values ...any) *Error {
	return &Error{Column: p.token.column, Message: fmt.Sprintf(format, values...)}
}

func (p *parser[V]) or() (Node[V], *Error) { return p.series(kindOr, p.and, Disjunction[V]) }

func (p *parser[V]) and() (Node[V], *Error) { return p.series(kindAnd, p.unary, Conjunction[V]) }

// series reads operands that are separated by one operator.
func (p *parser[V]) series(
	operator kind, operand func() (Node[V], *Error), join func([]Node[V]) Node[V],
) (Node[V], *Error) {
	var operands []Node[V]
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

func (p *parser[V]) unary() (Node[V], *Error) {
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
func (p *parser[V]) nested(read func() (Node[V], *Error)) (Node[V], *Error) {
	if p.depth == MaxDepth {
		return nil, p.failf("parentheses and negations nest more than %d deep", MaxDepth)
	}
	p.depth++
	defer func() { p.depth-- }()
	return read()
}

func (p *parser[V]) negation() (Node[V], *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	operand, err := p.unary()
	if err != nil {
		return nil, err
	}
	return &Not[V]{Operand: operand}, nil
}

func (p *parser[V]) group() (Node[V], *Error) {
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
