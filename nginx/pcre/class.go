package pcre

import "strings"

// class reads what follows an opening bracket.
func (p *parser) class() (*node, error) {
	start := p.at - 1
	negated := p.skip("^")
	var all set
	for first := true; ; first = false {
		switch {
		case !p.more():
			return nil, p.invalid("a class that does not end", start)
		case !first && p.skip("]"):
			if p.fold {
				all = all.folded()
			}
			if negated {
				all = all.complement()
			}
			return &node{set: all}, nil
		case p.skip(`\E`):
			return nil, p.unsupported("quoting in a class", p.at-2)
		}
		one, err := p.member()
		if err != nil {
			return nil, err
		}
		all = all.union(one)
	}
}

// member reads a character, a range, or a class within a class.
func (p *parser) member() (set, error) {
	start := p.at
	low, several, err := p.classItem()
	if err != nil || !strings.HasPrefix(p.rest(), "-") || strings.HasPrefix(p.rest(), "-]") {
		return low, err
	}
	p.at++
	if !p.more() {
		return set{}, p.invalid("a class that does not end", start)
	}
	high, severalHigh, err := p.classItem()
	if err != nil {
		return set{}, err
	}
	if several || severalHigh {
		return set{}, p.unsupported("range with a class", start)
	}
	from, _, _ := low.one()
	to, _, _ := high.one()
	if from > to {
		return set{}, p.invalid("a range in the wrong order", start)
	}
	return span(from, to), nil
}

// classItem reads a character, or a class within a class, which has several.
func (p *parser) classItem() (s set, several bool, err error) {
	start := p.at
	c := p.text[p.at]
	p.at++
	switch {
	case c == '[' && p.more() && strings.IndexByte(":.=", p.text[p.at]) >= 0:
		s, err = p.posix(start)
		return s, true, err
	case c != '\\':
		return single(c), false, nil
	}
	if err := p.refusedEscape(start); err != nil {
		return set{}, false, err
	}
	switch c := p.text[p.at]; {
	case c == 'b':
		p.at++
		return single('\b'), false, nil
	case c == 'Q' || c == 'E':
		return set{}, false, p.unsupported("quoting in a class", start)
	case c >= '1' && c <= '9':
		return set{}, false, p.unsupported("octal number in a class", start)
	}
	if s, is := p.shorthand(); is {
		return s, true, nil
	}
	one, err := p.character(start)
	return single(one), false, err
}

// posix reads a class such as [:alpha:].
func (p *parser) posix(start int) (set, error) {
	name, _, closed := strings.Cut(p.text[p.at+1:], ":]")
	name, negated := strings.CutPrefix(name, "^")
	length := len(name)
	if p.fold && (name == "lower" || name == "upper") {
		name = "alpha"
	}
	s, known := posixSet(name)
	if p.text[p.at] != ':' || !closed || !known {
		return set{}, p.unsupported("POSIX collating element or unknown class", start)
	}
	p.at += len(":") + length + len(":]")
	if negated {
		p.at++
		s = s.complement()
	}
	return s, nil
}

// posixSet returns the class of a name.
func posixSet(name string) (set, bool) {
	alpha := span('A', 'Z').union(span('a', 'z'))
	switch name {
	case "alpha":
		return alpha, true
	case "alnum":
		return alpha.union(span('0', '9')), true
	case "ascii":
		return span(0, 0x7f), true
	case "blank":
		return single(' ').union(single('\t')), true
	case "cntrl":
		return span(0, 0x1f).union(single(0x7f)), true
	case "digit":
		return span('0', '9'), true
	case "graph":
		return span('!', '~'), true
	case "lower":
		return span('a', 'z'), true
	case "print":
		return span(' ', '~'), true
	case "punct":
		return span('!', '/').union(span(':', '@')).union(span('[', '`')).union(span('{', '~')), true
	case "space":
		return span('\t', '\r').union(single(' ')), true
	case "upper":
		return span('A', 'Z'), true
	case "word":
		return wordSet(), true
	case "xdigit":
		return span('0', '9').union(span('A', 'F')).union(span('a', 'f')), true
	default:
		return set{}, false
	}
}
