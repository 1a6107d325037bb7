package rule

import (
	"fmt"
	"math"
	"slices"
)

// matcher reads a name and its arguments and builds the matcher that they describe.
func (p *parser) matcher() (node, *Error) {
	name := p.token
	s, known := p.lookup(name.text)
	if !known {
		return nil, &Error{Column: name.column, Message: unknownMatcher(name.text, p.names)}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	args, err := p.arguments(name.text)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(args))
	for i, arg := range args {
		texts[i] = arg.text
	}
	n, wrong := s.matcher(texts, &p.budget)
	if wrong != nil {
		column := name.column
		if wrong.arg >= 0 {
			column = args[wrong.arg].column
		}
		return nil, &Error{Column: column, Message: wrong.message}
	}
	return n, nil
}

// matcher builds the matcher of a text or a tree. The message of its fault begins with the name of the matcher.
func (s spec) matcher(args []string, b *budget) (node, *fault) {
	if len(args) < s.min || len(args) > s.max {
		return nil, &fault{arg: -1, message: wrongCount(s, len(args))}
	}
	if i := slices.Index(args, ""); i >= 0 {
		return nil, faultf(i, "%s: the argument is empty", s.name)
	}
	n, wrong := s.build(args, b)
	if wrong != nil {
		return nil, &fault{arg: wrong.arg, message: s.name + ": " + wrong.message}
	}
	return n, nil
}

// arguments reads a list of strings in parentheses.
func (p *parser) arguments(name string) ([]token, *Error) {
	if p.token.kind != kindOpen {
		return nil, p.failf("expected \"(\" after %s, found %s", name, p.token)
	}
	open := p.token
	if err := p.advance(); err != nil {
		return nil, err
	}
	var args []token
	for p.token.kind != kindClose {
		if p.token.kind == kindEnd {
			return nil, unclosed(open)
		}
		if p.token.kind != kindString {
			return nil, p.failf("an argument of %s is a string in backticks or double quotes, not %s", name, p.token)
		}
		args = append(args, p.token)
		if err := p.separator(open); err != nil {
			return nil, err
		}
	}
	return args, p.advance()
}

// separator reads what follows an argument: a comma, which a closing parenthesis may follow, or nothing.
func (p *parser) separator(open token) *Error {
	if err := p.advance(); err != nil {
		return err
	}
	switch p.token.kind {
	case kindComma:
		return p.advance()
	case kindClose:
		return nil
	case kindEnd:
		return unclosed(open)
	default:
		return p.failf("expected \",\" or \")\" before %s", p.token)
	}
}

// wrongCount returns the error about a matcher's number of arguments.
func wrongCount(s spec, got int) string {
	wanted := fmt.Sprint(s.min)
	switch {
	case s.max == math.MaxInt:
		wanted = fmt.Sprintf("at least %d", s.min)
	case s.max != s.min:
		wanted = fmt.Sprintf("%d or %d", s.min, s.max)
	}
	noun := "arguments"
	if s.min == 1 && s.max != 2 {
		noun = "argument"
	}
	message := fmt.Sprintf("%s takes %s %s, not %d", s.name, wanted, noun, got)
	if s.max == 1 && got > 1 {
		message += "; join several matchers with ||"
	}
	return message
}

// unknownMatcher names the nearest known matcher, when there is one.
func unknownMatcher(name string, known []string) string {
	message := fmt.Sprintf("unknown matcher %q", clip(name))
	if near := nearest(name, known); near != "" {
		message += fmt.Sprintf(", did you mean %q?", near)
	}
	return message
}
