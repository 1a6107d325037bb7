package pcre

import "strings"

// refusal is how a construct begins that is refused.
type refusal struct{ mark, construct string }

// refusedGroups returns what may follow an opening parenthesis and is refused; longer marks come first.
func refusedGroups() []refusal {
	return []refusal{
		{"?|", "branch reset group"},
		{"?>", "atomic group"},
		{"?=", "lookahead"},
		{"?!", "negative lookahead"},
		{"?*", "non-atomic lookahead"},
		{"?<=", "lookbehind"},
		{"?<!", "negative lookbehind"},
		{"?<*", "non-atomic lookbehind"},
		{"?P=", "backreference"},
		{"?P>", "recursion"},
		{"?&", "recursion"},
		{"?R", "recursion"},
		{"?C", "callout"},
		{"?(", "conditional group"},
		{"?[", "extended character class"},
		{"?^", "reset of options"},
		{"*:", "backtracking verb"},
	}
}

// refusedOptions returns the options that may not be set, with their constructs.
func refusedOptions() map[byte]string {
	return map[byte]string{
		'm': "multiline mode",
		'x': "extended mode",
		'n': "option without captures",
		'U': "ungreedy mode",
		'J': "duplicate names",
		'a': "option of ASCII classes",
		'r': "option of caseless restriction",
	}
}

// group reads what follows an opening parenthesis. It is nil for options.
func (p *parser) group() (*node, error) {
	start := p.at - 1
	switch {
	case p.skip("?:"):
		return p.enclosed(start, opGroup)
	case p.skip("?#"):
		return nil, p.invalid("a comment that does not end", start)
	case !strings.HasPrefix(p.rest(), "?") && !strings.HasPrefix(p.rest(), "*"):
		return p.capture(start, "")
	}
	for _, refused := range refusedGroups() {
		if strings.HasPrefix(p.rest(), refused.mark) {
			return nil, p.unsupported(refused.construct, start)
		}
	}
	if p.skip("*") {
		return nil, p.verb(start)
	}
	for mark, closing := range map[string]string{"?<": ">", "?P<": ">", "?'": "'"} {
		if p.skip(mark) {
			name, _, closed := strings.Cut(p.rest(), closing)
			if !closed || !validName(name) {
				return nil, p.invalid("the name of a group", start)
			}
			p.at += len(name) + len(closing)
			return p.capture(start, name)
		}
	}
	p.at++
	return p.options(start)
}

// verb returns the error of "(*" and what follows.
func (p *parser) verb(start int) error {
	name := p.rest()
	switch {
	case name == "" || !letter(name[0]):
		return p.invalid("a quantifier without an operand", start)
	case name[0] >= 'a':
		return p.unsupported("group with an alphabetic name", start)
	default:
		return p.unsupported("backtracking verb", start)
	}
}

// validName reports whether a group may have the name.
func validName(name string) bool {
	const most = 32
	if name == "" || len(name) > most || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	word := wordSet()
	for i := range len(name) {
		if !word.has(name[i]) {
			return false
		}
	}
	return true
}

// options reads options, which hold for the group that follows a colon, or else up to the end of the group around.
func (p *parser) options(start int) (*node, error) {
	fold, dotall, on := p.fold, p.dotall, true
	for p.more() {
		c := p.text[p.at]
		p.at++
		construct, refused := refusedOptions()[c]
		switch {
		case c == '-' && on && p.more() && p.text[p.at] >= '0' && p.text[p.at] <= '9', c == '+', c >= '0' && c <= '9':
			return nil, p.unsupported("recursion", start)
		case c == '-' && on:
			on = false
		case c == 'i':
			fold = on
		case c == 's':
			dotall = on
		case refused && on || c == 'a' || c == 'r':
			return nil, p.unsupported(construct, start)
		case refused:
			// It is not set.
		case c == ')':
			p.fold, p.dotall = fold, dotall
			return nil, nil //nolint:nilnil // Options match nothing by themselves.
		case c == ':':
			return p.optional(start, fold, dotall)
		default:
			return nil, p.invalid("an unknown option or group", start)
		}
	}
	return nil, p.invalid("a group that does not end", start)
}

// optional reads the rest of a group with options of its own.
func (p *parser) optional(start int, fold, dotall bool) (*node, error) {
	oldFold, oldDotall := p.fold, p.dotall
	p.fold, p.dotall = fold, dotall
	n, err := p.enclosed(start, opGroup)
	p.fold, p.dotall = oldFold, oldDotall
	return n, err
}
