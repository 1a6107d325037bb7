package redirectregex

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/sluiceproxy/sluice/middleware/pattern"
)

// template is a replacement in the syntax of regexp.Expand, taken apart, so that every byte of a result is known to
// come from the operator or from a place in the client's URL.
type template struct {
	pieces []piece
	// relative says that the operator wants another host under the scheme of the client ("//host").
	relative bool
}

// piece is a text that stands for itself, or else the number of a group.
type piece struct {
	text  string
	group int
}

// parse takes a replacement apart. The names are those of the expression's groups. A dollar sign that begins no
// reference stands for itself, and a reference to a group that does not exist for nothing, as for regexp.Expand.
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

// reference reads the name of a group behind a dollar sign, which may be in braces.
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

// find returns the number of the group that a reference means, -1 for none.
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

// origin says where a byte of a result comes from.
type origin byte

const (
	operator origin = iota // the replacement
	place                  // the scheme or the host of the client's URL
	group                  // its path or query, which any link can hold, by a group of the expression
	rest                   // its path or query, around what matched
)

// link reports whether a byte may come from a link that a client is made to follow.
func (o origin) link() bool { return o >= group }

// ours is the opposite of link.
func (o origin) ours() bool { return o < group }

// target is what a replacement made of a URL.
type target struct {
	url  []byte
	from []origin // of each byte
	long bool
}

// replace puts the template in the place of all matches.
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

// take appends a part of the client's URL. What is of its path or query comes from there by the way that is given.
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

// put appends a text of the operator.
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
