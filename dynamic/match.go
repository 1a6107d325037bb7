package dynamic

import (
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

// String returns the rule as text. Parsing it gives the same tree, in which All and Any of one part are that part.
func (m *Match) String() string {
	var b strings.Builder
	m.write(&b)
	return b.String()
}

func (m *Match) write(b *strings.Builder) {
	m = m.reduced()
	switch {
	case m.Not != nil:
		b.WriteByte('!')
		part := m.Not.reduced()
		part.writeGrouped(b, len(part.All) > 0 || len(part.Any) > 0)
	case len(m.All) > 0:
		for i := range m.All {
			part := m.All[i].reduced()
			writeSeparator(b, i, " && ")
			part.writeGrouped(b, len(part.All) > 0 || len(part.Any) > 0)
		}
	case len(m.Any) > 0:
		for i := range m.Any {
			part := m.Any[i].reduced()
			writeSeparator(b, i, " || ")
			part.writeGrouped(b, len(part.Any) > 0) // && binds closer than ||.
		}
	default:
		m.writeCall(b)
	}
}

// reduced returns the part that All or Any of one part stands for.
func (m *Match) reduced() *Match {
	for m.Not == nil {
		switch {
		case len(m.All) == 1:
			m = &m.All[0]
		case len(m.All) == 0 && len(m.Any) == 1:
			m = &m.Any[0]
		default:
			return m
		}
	}
	return m
}

func (m *Match) writeGrouped(b *strings.Builder, group bool) {
	if group {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	m.write(b)
}

// writeCall writes a matcher.
func (m *Match) writeCall(b *strings.Builder) {
	b.WriteString(m.Name)
	b.WriteByte('(')
	for i, arg := range m.Args {
		writeSeparator(b, i, ", ")
		b.WriteString(quoted(arg))
	}
	b.WriteByte(')')
}

func writeSeparator(b *strings.Builder, i int, separator string) {
	if i > 0 {
		b.WriteString(separator)
	}
}

// quoted prefers backticks, which keep the backslashes of regular expressions readable.
func quoted(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
