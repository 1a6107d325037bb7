package expression

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	kindEnd kind = iota
	kindName
	kindString
	kindOpen
	kindClose
	kindComma
	kindAnd
	kindOr
	kindNot
)

// token is one word of a rule.
type token struct {
	kind kind
	// column is the position of its first byte, from 1.
	column int
	// text is the name as written, or the content of a string, or the operator.
	text string
}

// String describes the token for a message.
func (t token) String() string {
	switch t.kind {
	case kindEnd:
		return "the end of the rule"
	case kindString:
		return "the string " + strconv.Quote(Clip(t.text))
	default:
		return strconv.Quote(Clip(t.text))
	}
}

// lexer cuts a text into tokens.
type lexer struct {
	text string
	at   int
}

// next returns the next token, or the error that keeps it from being one.
func (l *lexer) next() (token, *Error) {
	l.skipSpace()
	if l.at == len(l.text) {
		return token{kind: kindEnd, column: l.at + 1}, nil
	}
	switch c := l.text[l.at]; {
	case c == '(':
		return l.take(kindOpen, 1), nil
	case c == ')':
		return l.take(kindClose, 1), nil
	case c == ',':
		return l.take(kindComma, 1), nil
	case c == '!':
		return l.take(kindNot, 1), nil
	case c == '&' || c == '|':
		return l.operator(c)
	case c == '`':
		return l.raw()
	case c == '"':
		return l.quoted()
	case IsLetter(c):
		return l.take(kindName, l.nameLength()), nil
	}
	return token{}, l.unexpected()
}

func (l *lexer) skipSpace() {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
}

// take consumes n bytes as one token.
func (l *lexer) take(k kind, n int) token {
	t := token{kind: k, column: l.at + 1, text: l.text[l.at : l.at+n]}
	l.at += n
	return t
}

// operator reads && or ||.
func (l *lexer) operator(c byte) (token, *Error) {
	if l.at+1 == len(l.text) || l.text[l.at+1] != c {
		return token{}, &Error{Column: l.at + 1, Message: fmt.Sprintf("unknown operator %q, did you mean %q?",
			string(c), string([]byte{c, c}))}
	}
	if c == '&' {
		return l.take(kindAnd, 2), nil
	}
	return l.take(kindOr, 2), nil
}

// raw reads a string in backticks. Carriage returns are dropped, as in the raw strings of Go.
func (l *lexer) raw() (token, *Error) {
	n := strings.IndexByte(l.text[l.at+1:], '`')
	if n < 0 {
		return token{}, &Error{Column: l.at + 1, Message: "the string that begins here is never closed by a backtick"}
	}
	t := l.take(kindString, n+2)
	t.text = strings.ReplaceAll(t.text[1:len(t.text)-1], "\r", "")
	return t, nil
}

// quoted reads a string in double quotes with the escapes of Go.
func (l *lexer) quoted() (token, *Error) {
	n := 1
	for ; ; n++ {
		if l.at+n >= len(l.text) || l.text[l.at+n] == '\n' {
			return token{}, &Error{
				Column:  l.at + 1,
				Message: "the string that begins here is never closed by a double quote",
			}
		}
		if l.text[l.at+n] == '"' {
			break
		}
		if l.text[l.at+n] == '\\' {
			n++
		}
	}
	t := l.take(kindString, n+1)
	content, err := strconv.Unquote(t.text)
	if err != nil {
		return token{}, &Error{
			Column:  t.column,
			Message: "the string " + Clip(t.text) + " has an invalid escape, use backticks to write backslashes as they are",
		}
	}
	t.text = content
	return t, nil
}

// nameLength counts the bytes of the name that begins here.
func (l *lexer) nameLength() int {
	n := 0
	for l.at+n < len(l.text) && (IsLetter(l.text[l.at+n]) || IsDigit(l.text[l.at+n])) {
		n++
	}
	return n
}

// unexpected describes a character that begins no token.
func (l *lexer) unexpected() *Error {
	c, _ := utf8.DecodeRuneInString(l.text[l.at:])
	if c == '\'' {
		return &Error{Column: l.at + 1, Message: "strings are written in backticks or double quotes, not in single quotes"}
	}
	return &Error{Column: l.at + 1, Message: fmt.Sprintf("unexpected %q", string(c))}
}

// IsLetter reports whether c is an ASCII letter or an underscore, which may begin a name.
func IsLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// Clip shortens a text for a message, at a character boundary.
func Clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}
