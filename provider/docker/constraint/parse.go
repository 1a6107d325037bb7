package constraint

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// deepest is how many parentheses and negations may stand within one another.
const deepest = 100

// functions are the functions that an expression may call.
var functions = []string{"Label", "LabelRegex"}

// Parse reads an expression of Label(`key`, `value`) and LabelRegex(`key`, `expression`), joined with && and ||,
// negated with ! and grouped with parentheses; && binds more tightly than ||. Strings stand in backquotes or double
// quotes. An error says at which byte, from 1, the text can't be understood.
func Parse(text string) (Expression, error) {
	if strings.TrimSpace(text) == "" {
		return Expression{}, nil
	}
	p := &parser{lexer: lexer{text: text}}
	p.advance()
	root := p.disjunction()
	if p.err == nil && p.token.kind != end {
		p.fail("expected && or ||, got %s", p.token)
	}
	if p.err != nil {
		return Expression{}, p.err
	}
	return Expression{root: root, labels: p.labels}, nil
}

// parser turns tokens into terms; its first error stays.
type parser struct {
	lexer
	token  token
	depth  int
	labels []string
	err    error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("at byte %d: %s", p.token.at+1, fmt.Sprintf(format, args...))
	}
	p.token = token{kind: end, at: p.token.at}
}

// advance reads the next token, unless something went wrong.
func (p *parser) advance() {
	if p.err != nil {
		return
	}
	next, err := p.next()
	p.token = next
	if err != nil {
		p.fail("%v", err)
	}
}

func (p *parser) disjunction() term {
	left := p.conjunction()
	for p.token.is("||") {
		p.advance()
		left = or{left, p.conjunction()}
	}
	return left
}

func (p *parser) conjunction() term {
	left := p.unary()
	for p.token.is("&&") {
		p.advance()
		left = and{left, p.unary()}
	}
	return left
}

func (p *parser) unary() term {
	if p.depth++; p.depth > deepest {
		p.fail("more than %d parentheses and negations stand within one another", deepest)
		return nil
	}
	defer func() { p.depth-- }()
	switch {
	case p.token.is("!"):
		p.advance()
		return not{p.unary()}
	case p.token.is("("):
		p.advance()
		inner := p.disjunction()
		p.expect(")")
		return inner
	case p.token.kind == word:
		return p.call()
	}
	p.fail("expected Label, LabelRegex, ! or (, got %s", p.token)
	return nil
}

// call reads Label or LabelRegex with its two strings.
func (p *parser) call() term {
	name := p.token
	switch name.text {
	case "Label", "LabelRegex":
	default:
		p.fail("%s: %s", name.text, document.Unknown(name.text, functions))
		return nil
	}
	p.advance()
	p.expect("(")
	key := p.text()
	p.expect(",")
	value := p.token
	text := p.text()
	p.expect(")")
	p.labels = append(p.labels, key)
	if name.text == "Label" {
		return equal{key, text}
	}
	pattern, err := regexp.Compile(text)
	if err != nil && p.err == nil {
		p.token = value
		p.fail("%v", err)
	}
	return like{key, pattern}
}

// expect takes one symbol.
func (p *parser) expect(symbol string) {
	if !p.token.is(symbol) {
		p.fail("expected %s, got %s", symbol, p.token)
		return
	}
	p.advance()
}

// text takes one string.
func (p *parser) text() string {
	if p.token.kind != quoted {
		p.fail("expected a string in backquotes, got %s", p.token)
		return ""
	}
	text := p.token.text
	p.advance()
	return text
}
