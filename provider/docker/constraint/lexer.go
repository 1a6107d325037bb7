package constraint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	end kind = iota
	symbol
	word
	quoted
)

// token is one word of an expression.
type token struct {
	kind kind
	text string
	at   int
}

func (t token) is(text string) bool { return t.kind == symbol && t.text == text }

// String returns the token as it is shown in errors.
func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case quoted:
		return "the string " + strconv.Quote(t.text)
	default:
		return t.text
	}
}

// lexer takes an expression apart.
type lexer struct {
	text string
	at   int
}

func (l *lexer) next() (token, error) {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
	start, rest := l.at, l.text[l.at:]
	if rest == "" {
		return token{kind: end, at: start}, nil
	}
	for _, known := range []string{"&&", "||", "!", "(", ")", ","} {
		if strings.HasPrefix(rest, known) {
			l.at += len(known)
			return token{kind: symbol, text: known, at: start}, nil
		}
	}
	if rest[0] == '`' || rest[0] == '"' {
		return l.quoted()
	}
	length := 0
	for length < len(rest) && isLetter(rest[length]) {
		length++
	}
	if length == 0 {
		character, _ := utf8.DecodeRuneInString(rest)
		return token{at: start}, fmt.Errorf("unexpected %q", character)
	}
	l.at += length
	return token{kind: word, text: rest[:length], at: start}, nil
}

// quoted reads a string: raw in backquotes, with Go's escapes in double quotes.
func (l *lexer) quoted() (token, error) {
	start := l.at
	prefix, err := strconv.QuotedPrefix(l.text[start:])
	if err != nil {
		return token{at: start}, errors.New("a string has no end or a wrong escape")
	}
	text, err := strconv.Unquote(prefix)
	if err != nil {
		return token{at: start}, errors.New("a string has a wrong escape")
	}
	l.at += len(prefix)
	return token{kind: quoted, text: text, at: start}, nil
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }
