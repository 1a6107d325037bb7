package dynamic

import (
	"fmt"
	"strconv"
	"strings"
)

// Match is a rule as a tree, for providers whose sources have values in place of text: no value needs quoting. Exactly
// one of Name, All, Any and Not is set. All and Any of one part mean that part.
type Match struct {
	// Name is the name of a matcher of the rule language, like PathPrefix.
	Name string `json:"name,omitempty"`
	// Args are the arguments of the matcher, as they are. None of them is empty.
	Args []string `json:"args,omitempty"`
	// All matches what all of its parts match: && in the text.
	All []Match `json:"all,omitempty"`
	// Any matches what at least one of its parts matches: || in the text.
	Any []Match `json:"any,omitempty"`
	// Not matches what its part does not match: ! in the text.
	Not *Match `json:"not,omitempty"`
}

const (
	// maxMatchText is how many bytes of a rule String writes; parsers accept rules of up to 256 KiB.
	maxMatchText = 256 << 10
	// maxMatchDepth is how many levels of a tree String writes, which is how many a rule may have.
	maxMatchDepth = 100
	// maxMatchParts is how many parts a tree may have. Each one of a rule whose text has the allowed length has at least
	// a byte of it, unless it is All or Any of one part.
	maxMatchParts = maxMatchText
	// cut stands for what String does not write.
	cut = "..."
)

// String returns the rule as text. Parsing it gives the same tree, in which All and Any of one part are that part. A
// tree of more than 100 levels, such as one with a cycle, or with more than 256 KiB of text is cut off, which is no
// valid rule.
func (m *Match) String() string {
	var w matchWriter
	w.tree(m, 0)
	return w.String()
}

// Validate returns an error for a tree that is too large to be walked: of more than 100 levels, such as one with a
// cycle, or of more than 262,144 parts, such as one whose parts share their parts.
func (m *Match) Validate() error {
	parts := maxMatchParts
	return m.validate(0, &parts)
}

// validate takes the parts of a tree that is depth levels below the root from those that are allowed.
func (m *Match) validate(depth int, parts *int) error {
	if depth > maxMatchDepth {
		return fmt.Errorf("the rule nests more than %d deep", maxMatchDepth)
	}
	if *parts--; *parts < 0 {
		return fmt.Errorf("the rule has more than %d parts", maxMatchParts)
	}
	var err error
	if m.Not != nil {
		err = m.Not.validate(depth+1, parts)
	}
	for _, list := range [][]Match{m.All, m.Any} {
		for i := 0; i < len(list) && err == nil; i++ {
			err = list[i].validate(depth+1, parts)
		}
	}
	return err
}

// matchWriter writes a tree as text.
type matchWriter struct{ strings.Builder }

// tree writes a tree that is depth levels below the root.
func (w *matchWriter) tree(m *Match, depth int) {
	m, depth = m.reduced(depth)
	switch {
	case depth > maxMatchDepth:
		w.WriteString(cut)
	case m.Not != nil:
		w.WriteByte('!')
		w.part(m.Not, depth, true)
	case len(m.All) > 0:
		w.parts(m.All, depth, " && ", true)
	case len(m.Any) > 0:
		w.parts(m.Any, depth, " || ", false) // && binds closer than ||.
	default:
		w.call(m)
	}
}

// parts writes the parts of All, in which other All are grouped, or of Any.
func (w *matchWriter) parts(parts []Match, depth int, operator string, group bool) {
	for i := range parts {
		w.separate(i, operator)
		if w.Len() > maxMatchText {
			w.WriteString(cut)
			return
		}
		w.part(&parts[i], depth, group)
	}
}

// part writes a part of a tree, in parentheses if it is Any, or All that is to be grouped.
func (w *matchWriter) part(m *Match, depth int, groupAll bool) {
	m, depth = m.reduced(depth + 1)
	if len(m.Any) > 0 || groupAll && len(m.All) > 0 {
		w.WriteByte('(')
		defer w.WriteByte(')')
	}
	w.tree(m, depth)
}

// reduced returns the part that All or Any of one part stands for, and its depth.
func (m *Match) reduced(depth int) (*Match, int) {
	for ; m.Not == nil && depth <= maxMatchDepth; depth++ {
		switch {
		case len(m.All) == 1:
			m = &m.All[0]
		case len(m.All) == 0 && len(m.Any) == 1:
			m = &m.Any[0]
		default:
			return m, depth
		}
	}
	return m, depth
}

// call writes a matcher.
func (w *matchWriter) call(m *Match) {
	w.WriteString(m.Name)
	w.WriteByte('(')
	for i, arg := range m.Args {
		w.separate(i, ", ")
		if w.Len()+len(arg) > maxMatchText {
			w.WriteString(cut)
			break
		}
		w.WriteString(quoted(arg))
	}
	w.WriteByte(')')
}

func (w *matchWriter) separate(i int, separator string) {
	if i > 0 {
		w.WriteString(separator)
	}
}

// quoted prefers backticks, which keep the backslashes of regular expressions readable.
func quoted(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
