package snippet

import (
	"fmt"
	"strings"
)

// Most is the length in bytes of the longest snippet that is read.
const Most = 16 << 10

// mostDepth bounds how deep blocks are in each other.
const mostDepth = 32

// SyntaxError is why a text is no configuration of nginx.
type SyntaxError struct {
	// Line is that of the snippet, from 1 on.
	Line int
	// Reason is what is wrong.
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// directive is a directive of nginx.
type directive struct {
	words []string // the name and the parameters, without quotes and escapes
	line  int      // where the name begins
	// source is the text of the directive with its block.
	source string
	// braces says that it has a block, and block is what is within.
	braces bool
	block  []*directive
	// opaque says that the block is a program of Lua and not of nginx's syntax.
	opaque bool
}

// name returns the name in lower case, in which nginx has all names.
func (d *directive) name() string { return strings.ToLower(d.words[0]) }

// String returns the directive as it is in the snippet, on one line.
func (d *directive) String() string { return strings.Join(strings.Fields(d.source), " ") }

// tokenizer divides a text as nginx does: words end at white space, and directives at semicolons and braces. Quotes and
// comments begin where a word does, and a backslash takes the next character along.
type tokenizer struct {
	text string
	at   int
	line int
}

// parse reads a snippet. With an error it returns what is before it.
func parse(text string) ([]*directive, error) {
	if len(text) > Most {
		return nil, &SyntaxError{1, fmt.Sprintf("the snippet has %d bytes, more than the %d that are read", len(text), Most)}
	}
	t := &tokenizer{text: text, line: 1}
	found, err := t.directives(0)
	return found, err
}

func (t *tokenizer) fail(reason string) error { return &SyntaxError{t.line, reason} }

// next passes one byte.
func (t *tokenizer) next() {
	if t.text[t.at] == '\n' {
		t.line++
	}
	t.at++
}

// directives reads what a block holds, up to its closing brace, or the whole text at depth 0.
func (t *tokenizer) directives(depth int) (found []*directive, err error) {
	for {
		t.skip()
		start := t.at
		one, end, err := t.directive()
		if one != nil {
			one.source = t.text[start:t.at]
			found = append(found, one)
		}
		switch {
		case err != nil:
			return found, err
		case one != nil && one.braces && !one.opaque:
			if depth == mostDepth {
				return found, t.fail("blocks are too deep in each other")
			}
			one.block, err = t.directives(depth + 1)
			one.source = t.text[start:t.at]
			if err != nil {
				return found, err
			}
		case one == nil && end == '}' && depth == 0:
			return found, t.fail("a closing brace without an opening one")
		case one == nil && end == '}':
			return found, nil
		case one == nil && depth > 0:
			return found, t.fail("the closing brace of a block is missing")
		case one == nil:
			return found, nil
		}
	}
}

// directive reads one directive up to its semicolon or opening brace. Without one, end is the closing brace that is
// there instead, or 0 at the end of the text.
func (t *tokenizer) directive() (one *directive, end byte, err error) {
	for t.skip() {
		switch b := t.text[t.at]; b {
		case ';', '{':
			t.next()
			if one == nil {
				return nil, 0, t.fail("there is no directive before " + string(b))
			}
			if b == '{' {
				one.braces = true
				if strings.HasSuffix(one.name(), "_by_lua_block") {
					one.opaque = true
					return one, 0, t.fail("a program of Lua")
				}
			}
			return one, 0, nil
		case '}':
			t.next()
			if one != nil {
				return one, 0, t.fail("the semicolon before a closing brace is missing")
			}
			return nil, '}', nil
		}
		line := t.line
		word, err := t.word()
		if one == nil {
			one = &directive{line: line}
		}
		one.words = append(one.words, word)
		if err != nil {
			return one, 0, err
		}
	}
	if one != nil {
		return one, 0, t.fail("the semicolon at the end of " + one.words[0] + " is missing")
	}
	return nil, 0, nil
}

// skip passes white space and comments and reports whether something follows.
func (t *tokenizer) skip() bool {
	for ; t.at < len(t.text); t.next() {
		b := t.text[t.at]
		if b == '#' {
			for t.at < len(t.text) && t.text[t.at] != '\n' {
				t.at++
			}
			if t.at == len(t.text) {
				return false
			}
		} else if !space(b) {
			return true
		}
	}
	return false
}

func space(b byte) bool { return strings.IndexByte(" \t\r\n", b) >= 0 }

// word reads a word.
func (t *tokenizer) word() (string, error) {
	quote := t.text[t.at]
	if quote != '"' && quote != '\'' {
		return t.plain(), nil
	}
	t.next()
	start := t.at
	for t.at < len(t.text) {
		switch t.text[t.at] {
		case '\\':
			t.next()
		case quote:
			word := unescape(t.text[start:t.at])
			t.next()
			if t.at < len(t.text) && !space(t.text[t.at]) && strings.IndexByte(";{)", t.text[t.at]) < 0 {
				return word, t.fail("a character follows a closing quote")
			}
			return word, nil
		}
		if t.at < len(t.text) {
			t.next()
		}
	}
	return unescape(t.text[start:]), t.fail("the closing quote is missing")
}

// plain reads a word without quotes. A brace after a dollar sign belongs to a variable.
func (t *tokenizer) plain() string {
	start := t.at
	variable := false
	for ; t.at < len(t.text); t.next() {
		b := t.text[t.at]
		switch {
		case b == '{' && variable:
			continue // It stays the begin of a variable, as in nginx.
		case b == '\\':
			t.next()
			if t.at == len(t.text) {
				return unescape(t.text[start:])
			}
		case space(b) || b == ';' || b == '{':
			return unescape(t.text[start:t.at])
		}
		variable = b == '$'
	}
	return unescape(t.text[start:])
}

// unescape replaces what a backslash has a meaning before: quotes, itself, and t, r and n.
func unescape(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		switch next := text[i+1]; next {
		case '"', '\'', '\\':
			out.WriteByte(next)
			i++
		case 't':
			out.WriteByte('\t')
			i++
		case 'r':
			out.WriteByte('\r')
			i++
		case 'n':
			out.WriteByte('\n')
			i++
		default:
			out.WriteByte('\\')
		}
	}
	return out.String()
}
