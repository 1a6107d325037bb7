package pcre

import (
	"strconv"
	"strings"
)

// refusedEscapes returns what may follow a backslash and is refused, in classes too.
func refusedEscapes() []refusal {
	return []refusal{
		{"N{", "named character"},
		{"R", `\R`},
		{"X", `\X`},
		{"K", `\K`},
		{"G", `\G`},
		{"C", `\C`},
		{"p", "Unicode property"},
		{"P", "Unicode property"},
		{"g<", "recursion"},
		{"g'", "recursion"},
		{"g", "backreference"},
		{"k", "backreference"},
		{"o", `\o`},
	}
}

// escape reads what follows a backslash outside a class.
func (p *parser) escape() (*node, error) {
	start := p.at - 1
	if err := p.refusedEscape(start); err != nil {
		return nil, err
	}
	c := p.text[p.at]
	for mark, assertion := range map[byte]string{'b': `\b`, 'B': `\B`, 'A': begin, 'z': `\z`, 'Z': end} {
		if c == mark {
			p.at++
			return &node{op: opAssertion, text: assertion}, nil
		}
	}
	switch {
	case c == 'N':
		p.at++
		return &node{set: single('\n').complement()}, nil
	case c >= '1' && c <= '9':
		return nil, p.unsupported("backreference", start)
	}
	if s, is := p.shorthand(); is {
		return &node{set: s}, nil
	}
	one, err := p.character(start)
	if err != nil {
		return nil, err
	}
	return p.literal(one), nil
}

// refusedEscape returns the error of an escape that is refused, or of a pattern that ends with a backslash.
func (p *parser) refusedEscape(start int) error {
	for _, refused := range refusedEscapes() {
		if strings.HasPrefix(p.rest(), refused.mark) {
			return p.unsupported(refused.construct, start)
		}
	}
	if !p.more() {
		return p.invalid("a backslash at the end", start)
	}
	return nil
}

// shorthand reads the letter of a class such as \d.
func (p *parser) shorthand() (set, bool) {
	c := p.text[p.at]
	var s set
	switch lower(c) {
	case 'd':
		s = span('0', '9')
	case 's':
		s = span('\t', '\r').union(single(' '))
	case 'w':
		s = wordSet()
	case 'h':
		s = single('\t').union(single(' ')).union(single(0xa0))
	case 'v':
		s = span('\n', '\r').union(single(0x85))
	default:
		return set{}, false
	}
	p.at++
	if c < 'a' {
		s = s.complement()
	}
	return s, true
}

func wordSet() set {
	return span('0', '9').union(span('A', 'Z')).union(span('a', 'z')).union(single('_'))
}

// character reads what follows a backslash and stands for one byte.
func (p *parser) character(start int) (byte, error) {
	c := p.text[p.at]
	p.at++
	for mark, value := range map[byte]byte{'a': 7, 'e': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'} {
		if c == mark {
			return value, nil
		}
	}
	switch {
	case c == 'x':
		return p.hexadecimal(start)
	case c == '0':
		digits := p.digits("01234567", 2)
		value, err := strconv.ParseUint("0"+digits, 8, 8)
		if err != nil {
			return 0, p.invalid("an octal number", start)
		}
		return byte(value), nil
	case c == 'c':
		return p.control(start)
	case letter(c) || c >= '0' && c <= '9':
		return 0, p.invalid("an unknown escape", start)
	default:
		return c, nil
	}
}

// hexadecimal reads the digits of \x.
func (p *parser) hexadecimal(start int) (byte, error) {
	const set = "0123456789abcdefABCDEF"
	digits := ""
	if p.skip("{") {
		digits = p.digits(set, len(p.text))
		if digits == "" || !p.skip("}") {
			return 0, p.invalid("a hexadecimal number", start)
		}
	} else {
		digits = p.digits(set, 2)
	}
	value, err := strconv.ParseUint("0"+digits, 16, 8)
	if err != nil {
		return 0, p.invalid("a character above 0xff", start)
	}
	return byte(value), nil
}

// control reads the character of \c.
func (p *parser) control(start int) (byte, error) {
	if !p.more() || p.text[p.at] < ' ' || p.text[p.at] > '~' {
		return 0, p.invalid("a control character", start)
	}
	c := lower(p.text[p.at])
	p.at++
	if letter(c) {
		c &^= 0x20
	}
	return c ^ 0x40, nil
}

// digits reads up to most bytes of a set.
func (p *parser) digits(set string, most int) string {
	start := p.at
	for p.more() && p.at-start < most && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
	return p.text[start:p.at]
}
