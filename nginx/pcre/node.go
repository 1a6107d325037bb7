package pcre

import (
	"fmt"
	"strconv"
	"strings"
)

// op is the kind of a node.
type op uint8

const (
	opClass     op = iota // one byte of a set
	opAssertion           // a text of Go's expressions that consumes nothing
	opConcat
	opAlternate
	opGroup
	opCapture
	opRepeat
)

// node is a part of a pattern.
type node struct {
	op   op
	set  set
	text string // of an assertion
	subs []*node
	// min, max and lazy are those of a repetition; max is -1 when it is unlimited.
	min, max int
	lazy     bool
}

const (
	begin = `\A`
	end   = `(?m:$)` // See private.
)

// write writes the node in the syntax of Go's expressions.
func (n *node) write(w *strings.Builder) {
	switch n.op {
	case opClass:
		n.set.write(w)
	case opAssertion:
		w.WriteString(n.text)
	case opConcat:
		for _, sub := range n.subs {
			sub.write(w)
		}
	case opAlternate:
		for i, sub := range n.subs {
			if i > 0 {
				w.WriteByte('|')
			}
			sub.write(w)
		}
	case opGroup, opCapture:
		w.WriteByte('(')
		if n.op == opGroup {
			w.WriteString("?:")
		}
		n.subs[0].write(w)
		w.WriteByte(')')
	case opRepeat:
		// A group, because a repetition of a repetition is no error here.
		w.WriteString("(?:")
		n.subs[0].write(w)
		w.WriteString(")" + n.quantifier())
	}
}

func (n *node) quantifier() string {
	text := fmt.Sprintf("{%d,%d}", n.min, n.max)
	switch {
	case n.min == 0 && n.max < 0:
		text = "*"
	case n.min == 1 && n.max < 0:
		text = "+"
	case n.min == 0 && n.max == 1:
		text = "?"
	case n.max < 0:
		text = fmt.Sprintf("{%d,}", n.min)
	}
	if n.lazy {
		text += "?"
	}
	return text
}

// weight estimates the instructions of the node. It counts no further than just above MaxWeight.
func (n *node) weight() int {
	w := 1 + n.set.ranges()/4
	for _, sub := range n.subs {
		w = min(w+sub.weight(), MaxWeight+1)
	}
	if n.op == opRepeat {
		w = min(w*max(n.min, n.max, 1), MaxWeight+1)
	}
	return w
}

// nullable reports whether the node can match nothing.
func (n *node) nullable() bool {
	switch n.op {
	case opClass:
		return false
	case opAlternate:
		for _, sub := range n.subs {
			if sub.nullable() {
				return true
			}
		}
		return false
	case opRepeat:
		return n.min == 0 || n.subs[0].nullable()
	default:
		for _, sub := range n.subs {
			if !sub.nullable() {
				return false
			}
		}
		return true
	}
}

// captures reports whether there is a capturing group in the node.
func (n *node) captures() bool {
	if n.op == opCapture {
		return true
	}
	for _, sub := range n.subs {
		if sub.captures() {
			return true
		}
	}
	return false
}

// prefix returns what the pattern begins with, if it is anchored.
func (n *node) prefix() prefix {
	if n.op != opConcat || len(n.subs) == 0 || n.subs[0].text != begin {
		return prefix{}
	}
	p := prefix{whole: true}
	text, decided := make([]byte, 0, len(n.subs)), false
	for _, sub := range n.subs[1:] {
		c, fold, one := sub.set.one()
		// Letters with and without their other case are not mixed.
		if sub.op != opClass || !one || letter(c) && decided && fold != p.fold {
			p.whole = false
			break
		}
		if letter(c) {
			p.fold, decided = fold, true
		}
		text = append(text, c)
	}
	p.text = string(text)
	return p
}

func letter(c byte) bool { return lower(c) >= 'a' && lower(c) <= 'z' }

// set is a set of bytes.
type set [4]uint64

func single(c byte) set {
	var s set
	s.add(c)
	return s
}

func span(low, high byte) set {
	var s set
	for c := int(low); c <= int(high); c++ {
		s.add(byte(c))
	}
	return s
}

func (s *set) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *set) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

func (s set) union(other set) set {
	for i := range s {
		s[i] |= other[i]
	}
	return s
}

func (s set) complement() set {
	for i := range s {
		s[i] = ^s[i]
	}
	return s
}

// folded returns the set with both cases of each of its letters.
func (s set) folded() set {
	for c := byte('a'); c <= 'z'; c++ {
		if upper := c &^ 0x20; s.has(c) || s.has(upper) {
			s.add(c)
			s.add(upper)
		}
	}
	return s
}

// one returns the only byte of the set. Fold is set when it is a letter, here in lower case, whose other case is in the
// set, too.
func (s *set) one() (c byte, fold, is bool) {
	count := 0
	for i := range 256 {
		if s.has(byte(i)) {
			c = byte(i)
			count++
		}
	}
	if count == 2 && letter(c) && s.has(c&^0x20) {
		return lower(c), true, true
	}
	return c, false, count == 1
}

// each calls f with the ranges of characters that stand for the bytes.
func (s *set) each(f func(low, high rune)) {
	for i := 0; i < 256; i++ {
		first := i
		for i < 256 && s.has(byte(i)) && (i != 0x80 || first == i) {
			i++
		}
		if i == first {
			continue
		}
		base := rune(0)
		if first >= 0x80 {
			base = private
		}
		f(base+rune(first), base+rune(i-1))
		i--
	}
	if s.has('\n') {
		f(private+'\n', private+'\n')
	}
}

func (s *set) ranges() int {
	count := 0
	s.each(func(_, _ rune) { count++ })
	return count
}

// write writes the set as a class of Go's expressions.
func (s *set) write(w *strings.Builder) {
	if *s == (set{}) {
		w.WriteString(`[^\x00-\x{10FFFF}]`)
		return
	}
	w.WriteByte('[')
	s.each(func(low, high rune) {
		w.WriteString(`\x{` + strconv.FormatInt(int64(low), 16) + `}`)
		if high > low {
			w.WriteString(`-\x{` + strconv.FormatInt(int64(high), 16) + `}`)
		}
	})
	w.WriteByte(']')
}
