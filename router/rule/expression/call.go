package expression

import (
	"fmt"
	"slices"
)

// matcher reads a name and its arguments and builds the matcher that they describe.
func (p *parser[V]) matcher() (Node[V], *Error) {
	name := p.token
	s := p.language.find(name.text)
	if s == nil {
		return nil, &Error{Column: name.column, Message: p.language.unknown(name.text)}
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
		if wrong.Arg >= 0 {
			column = args[wrong.Arg].column
		}
		return nil, &Error{Column: column, Message: wrong.Message}
	}
	return n, nil
}

// matcher builds the matcher of a text or a tree. The message of its fault begins with the name of the matcher.
func (s *Spec[V]) matcher(args []string, b *Budget) (Node[V], *Fault) {
	if len(args) < s.Min || len(args) > s.Max {
		return nil, &Fault{Arg: -1, Message: s.wrongCount(len(args))}
	}
	if i := slices.Index(args, ""); i >= 0 {
		return nil, Faultf(i, "%s: the argument is empty", s.Name)
	}
	n, wrong := s.Build(args, b)
	if wrong != nil {
		return nil, &Fault{Arg: wrong.Arg, Message: s.Name + ": " + wrong.Message}
	}
	return n, nil
}

// arguments reads a list of strings in parentheses.
func (p *parser[V]) arguments(name string) ([]token, *Error) {
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
func (p *parser[V]) separator(open token) *Error {
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
func (s *Spec[V]) wrongCount(got int) string {
	wanted := fmt.Sprint(s.Min)
	switch {
	case s.Max == Unbounded:
		wanted = fmt.Sprintf("at least %d", s.Min)
	case s.Max != s.Min:
		wanted = fmt.Sprintf("%d or %d", s.Min, s.Max)
	}
	noun := "arguments"
	if s.Min == 1 && s.Max != 2 {
		noun = "argument"
	}
	message := fmt.Sprintf("%s takes %s %s, not %d", s.Name, wanted, noun, got)
	if s.Max == 1 && got > 1 {
		message += "; join several matchers with ||"
	}
	return message
}

// unknown returns the error about an unknown matcher, with the nearest known one when there is one.
func (l Language[V]) unknown(name string) string {
	message := fmt.Sprintf("unknown matcher %q", Clip(name))
	if near := nearest(name, l.Names()); near != "" {
		message += fmt.Sprintf(", did you mean %q?", near)
	}
	return message
}
