package gotemplate

import (
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// longestPattern bounds a regular expression, in bytes, and largestPattern the program that it becomes, in
	// instructions.
	longestPattern, largestPattern = 4 << 10, 20_000
	// compileWork is the work of compiling one instruction.
	compileWork = 50
)

// regex is the cost of compiling a regular expression and searching a text once. More searches are charged by matcher.
func (c *call) regex() cost {
	if strings.HasSuffix(c.name, "QuoteMeta") {
		return cost{}
	}
	if c.length(0) > longestPattern {
		return cost{work: impossible}
	}
	parsed, err := syntax.Parse(c.text(0), syntax.Perl)
	if err != nil {
		return cost{}
	}
	instructions := instructionsOf(parsed)
	if instructions > largestPattern {
		return cost{work: impossible}
	}
	return cost{work: compileWork*instructions + product(runeWork(parsed), c.length(1))}
}

// instructionsOf returns about how many instructions an expression is compiled to.
func instructionsOf(expression *syntax.Regexp) int64 {
	count := int64(2 + len(expression.Rune)/2)
	for _, sub := range expression.Sub {
		count += instructionsOf(sub)
	}
	if expression.Op == syntax.OpRepeat {
		count = product(count, int64(max(expression.Min, expression.Max, 1)))
	}
	return min(count, impossible)
}

// runeWork is the work of one rune of the text: each instruction may be a thread, which has the positions of all
// groups.
func runeWork(expression *syntax.Regexp) int64 {
	return 1 + product(instructionsOf(expression), int64(16+expression.MaxCap()))/64
}

// matcher finds the matches of a regular expression one after the other and charges for each rune that it reads. A
// search may read all of the text for a short match, so that the work may grow with the square of the text.
type matcher struct {
	meter      *meter
	text       string
	expression *regexp.Regexp
	parsed     *syntax.Regexp
	// later finds a match behind the first rune that it reads, which is only the context of the match. Its first group is
	// the match.
	later *regexp.Regexp
	work  int64 // of one rune
	at    int   // the position of the reader
	err   error
}

func (m *meter) newMatcher(pattern, text string) (*matcher, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &matcher{meter: m, text: text, expression: expression, parsed: parsed, work: runeWork(parsed)}, nil
}

// ReadRune implements io.RuneReader. It ends the text when the limit is reached.
func (m *matcher) ReadRune() (r rune, size int, err error) {
	if m.at >= len(m.text) {
		return 0, 0, io.EOF
	}
	if m.err = m.meter.charge(m.work, 0); m.err != nil {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRuneInString(m.text[m.at:])
	m.at += size
	return r, size, nil
}

// find returns the first match from a position on as regexp.FindStringSubmatchIndex does; nil if there is none.
func (m *matcher) find(from int) []int {
	if from == 0 { // Charged before the call.
		return m.expression.FindStringSubmatchIndex(m.text)
	}
	if m.later == nil {
		if m.err = m.meter.charge(compileWork*instructionsOf(m.parsed), 0); m.err != nil {
			return nil
		}
		if m.later, m.err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + m.parsed.String() + `)`); m.err != nil {
			return nil
		}
	}
	_, width := utf8.DecodeLastRuneInString(m.text[:from])
	start := from - width
	m.at = start
	match := m.later.FindReaderSubmatchIndex(m)
	if m.err != nil || match == nil {
		return nil
	}
	match = match[2:]
	for i := range match {
		if match[i] >= 0 {
			match[i] += start
		}
	}
	return match
}

// each calls deliver for at most limit matches, for all if it is negative. Which they are is defined by package regexp:
// an empty match behind another one is none. Deliver returns how many bytes the result has.
func (m *matcher) each(limit int, deliver func(match []int) int) error {
	if limit < 0 {
		limit = len(m.text) + 1
	}
	for from, last := 0, -1; limit > 0 && from <= len(m.text); {
		match := m.find(from)
		if match == nil {
			break
		}
		empty := match[1] == from
		if !empty || match[0] != last {
			limit--
			if int64(deliver(match)) > m.meter.memory {
				return errMemory
			}
		}
		last, from = match[1], match[1]
		if empty {
			_, width := utf8.DecodeRuneInString(m.text[from:])
			from += max(1, width)
		}
	}
	return m.err
}

// regexFindAll returns at most limit matches, all if it is negative.
func (m *meter) regexFindAll(pattern, text string, limit int) ([]string, error) {
	search, err := m.newMatcher(pattern, text)
	if err != nil {
		return nil, err
	}
	var out []string
	err = search.each(limit, func(match []int) int {
		out = append(out, text[match[0]:match[1]])
		return len(out) * emptySize
	})
	return out, err
}

// regexSplit returns the parts of a text between the matches, at most limit of them, all if it is negative.
func (m *meter) regexSplit(pattern, text string, limit int) ([]string, error) {
	search, err := m.newMatcher(pattern, text)
	switch {
	case err != nil || limit == 0:
		return nil, err
	case text == "" && pattern != "":
		return []string{""}, nil
	}
	out := []string{}
	begin, end := 0, 0
	err = search.each(limit, func(match []int) int {
		if limit > 0 && len(out) == limit-1 {
			return 0
		}
		if end = match[0]; match[1] != 0 {
			out = append(out, text[begin:end])
		}
		begin = match[1]
		return len(out) * emptySize
	})
	if end != len(text) {
		out = append(out, text[begin:])
	}
	return out, err
}

// regexReplaceAll replaces the matches; $1 and ${name} stand for groups.
func (m *meter) regexReplaceAll(pattern, text, replacement string) (string, error) {
	search, err := m.newMatcher(pattern, text)
	if err != nil {
		return "", err
	}
	groups := int64(strings.Count(replacement, "$"))
	return search.replace(replacement, groups, func(out []byte, match []int) []byte {
		return search.expression.ExpandString(out, replacement, text, match)
	})
}

// regexReplaceLiteral replaces the matches by a text.
func (m *meter) regexReplaceLiteral(pattern, text, replacement string) (string, error) {
	search, err := m.newMatcher(pattern, text)
	if err != nil {
		return "", err
	}
	return search.replace(replacement, 0, func(out []byte, _ []int) []byte { return append(out, replacement...) })
}

// replace returns the text with the matches replaced. Each replacement may contain the match as often as groups says.
func (m *matcher) replace(replacement string, groups int64, expand func([]byte, []int) []byte) (string, error) {
	var out []byte
	end := 0
	err := m.each(-1, func(match []int) int {
		out = append(out, m.text[end:match[0]]...)
		end = match[1]
		size := product(groups, int64(match[1]-match[0])) + int64(len(replacement))
		if m.meter.charge(size/32, 0) != nil || int64(len(out))+size > m.meter.memory {
			return impossible
		}
		out = expand(out, match)
		return len(out)
	})
	return string(append(out, m.text[end:]...)), err
}
