package redirectregex

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/sluiceproxy/sluice/middleware/pattern"
)

// template is a parsed replacement in the syntax of regexp.Expand. It tracks the origin of every byte of a result: the
// operator, or a part of the client's URL.
type template struct {
	pieces []piece
	// relative is set for a replacement that begins with "//".
	relative bool
}

// piece is a literal, or else the number of a group.
type piece struct {
	text  string
	group int
}

// parse parses a replacement with the names of the expression's groups. As for regexp.Expand, a dollar sign without a
// reference is literal, and a reference to an unknown group is empty.
func parse(replacement string, names []string) template {
	t := template{relative: strings.HasPrefix(replacement, "//")}
	for {
		before, after, found := strings.Cut(replacement, "$")
		t.text(before)
		if !found {
			return t
		}
		replacement = after
		if rest, escaped := strings.CutPrefix(after, "$"); escaped {
			t.text("$")
			replacement = rest
			continue
		}
		name, rest, ok := reference(after)
		if !ok {
			t.text("$")
			continue
		}
		if group := find(name, names); group >= 0 {
			t.pieces = append(t.pieces, piece{group: group})
		}
		replacement = rest
	}
}

func (t *template) text(text string) {
	if text != "" {
		t.pieces = append(t.pieces, piece{text: text, group: -1})
	}
}

// reference parses the name of a group after a dollar sign, with or without braces.
func reference(s string) (name, rest string, ok bool) {
	s, braced := strings.CutPrefix(s, "{")
	end := strings.IndexFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		end = len(s)
	}
	name, rest = s[:end], s[end:]
	if braced {
		rest, ok = strings.CutPrefix(rest, "}")
		return name, rest, ok && name != ""
	}
	return name, rest, name != ""
}

// find returns the group's number for a reference, or -1.
func find(name string, names []string) int {
	digits := strings.Trim(name, "0123456789") == ""
	if digits && (len(name) == 1 || name[0] != '0') {
		if number, err := strconv.Atoi(name); err == nil && number < len(names) {
			return number
		}
		return -1
	}
	for group, is := range names {
		if is == name {
			return group
		}
	}
	return -1
}

// origin is where a byte of a result comes from.
type origin byte

const (
	operator origin = iota // the replacement
	place                  // the scheme or the host of the client's URL
	group                  // its path or query, which any link can choose, by a group of the expression
	rest                   // its path or query, outside of the match
)

// link reports whether a link can choose the byte.
func (o origin) link() bool { return o >= group }

// ours is the opposite of link.
func (o origin) ours() bool { return o < group }

// target is the result of a replacement.
type target struct {
	url  []byte
	from []origin // of each byte
	long bool
}

// replace replaces all matches by the template.
func (t *template) replace(from *source, matches [][]int) *target {
	to := new(target)
	done := 0
	for _, match := range matches {
		to.take(from, done, match[0], rest)
		for _, piece := range t.pieces {
			if piece.group < 0 {
				to.put(piece.text)
			} else if start := match[2*piece.group]; start >= 0 {
				to.take(from, start, match[2*piece.group+1], group)
			}
		}
		done = match[1]
	}
	to.take(from, done, len(from.url), rest)
	return to
}

// take appends a part of the client's URL; by is the origin of bytes of its path or query.
func (to *target) take(from *source, start, end int, by origin) {
	if to.full(end - start) {
		return
	}
	to.url = append(to.url, from.url[start:end]...)
	for i := start; i < end; i++ {
		is := place
		if i >= from.path {
			is = by
		}
		to.from = append(to.from, is)
	}
}

// put appends text of the operator.
func (to *target) put(text string) {
	if to.full(len(text)) {
		return
	}
	to.url = append(to.url, text...)
	to.from = append(to.from, make([]origin, len(text))...)
}

func (to *target) full(more int) bool {
	to.long = to.long || len(to.url)+more > pattern.MaxResult
	return to.long
}
