// Package pcre matches with patterns of PCRE2 as nginx does, in time linear in the subject.
//
// A pattern is translated to the regular expressions of Go, which have the same semantics for what both can express:
// of all matches the one that a backtracking matcher finds first. What they cannot express is refused by its name, see
// [UnsupportedError]. As in nginx, patterns and subjects are bytes, no UTF-8: a dot is one byte, only letters of ASCII
// have cases, and classes such as \w are those of ASCII.
package pcre

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// MaxPattern bounds the bytes of a pattern.
	MaxPattern = 4 << 10
	// MaxWeight bounds the instructions of a pattern, see [Regexp.Weight].
	MaxWeight = 64 << 10
	// maxRepeat bounds counted repetitions, those within each other multiplied.
	maxRepeat = 1000
	// maxDepth bounds how deep groups are in each other.
	maxDepth = 200
)

// Flags are the options of a pattern.
type Flags uint8

// Caseless ignores the case of ASCII letters, as "location ~*" does. It is what (?i) sets within a pattern.
const Caseless Flags = 1

// UnsupportedError is why a valid pattern cannot be translated.
type UnsupportedError struct {
	// Construct is what the pattern holds, such as "lookahead".
	Construct string
	// Offset is where it begins, in bytes.
	Offset int
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s at byte %d is not supported: expressions are matched in linear time", e.Construct, e.Offset)
}

// SyntaxError is why a text is no pattern.
type SyntaxError struct {
	// Reason is what is wrong.
	Reason string
	// Offset is where, in bytes.
	Offset int
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not a regular expression: %s at byte %d", e.Reason, e.Offset)
}

// Regexp is a compiled pattern. It is immutable and safe for concurrent use.
type Regexp struct {
	pattern string
	re      *regexp.Regexp
	names   []string // of the groups, empty for those without
	weight  int
	prefix  prefix
}

// Compile compiles a pattern. The error is an [*UnsupportedError] or a [*SyntaxError].
func Compile(pattern string, flags Flags) (*Regexp, error) {
	p, root, text, err := translate(pattern, flags)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, errRepeats()
	}
	return &Regexp{pattern: pattern, re: re, names: p.names, weight: root.weight(), prefix: root.prefix()}, nil
}

// Check returns the error of [Compile] without compiling, for a pattern that is compiled elsewhere.
func Check(pattern string, flags Flags) error {
	_, _, text, err := translate(pattern, flags)
	if err != nil {
		return err
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return errRepeats()
	}
	return nil
}

func errRepeats() error {
	return &UnsupportedError{Construct: fmt.Sprintf("nested repetition above %d", maxRepeat)}
}

// translate reads a pattern and writes it as an expression of Go.
func translate(pattern string, flags Flags) (_ *parser, root *node, text string, err error) {
	if len(pattern) > MaxPattern {
		return nil, nil, "", &UnsupportedError{Construct: fmt.Sprintf("a pattern of more than %d bytes", MaxPattern)}
	}
	p := &parser{text: pattern, fold: flags&Caseless != 0, names: []string{""}}
	if root, err = p.pattern(); err != nil {
		return nil, nil, "", err
	}
	if root.weight() > MaxWeight {
		return nil, nil, "", &UnsupportedError{Construct: fmt.Sprintf("repetition to more than %d instructions", MaxWeight)}
	}
	var out strings.Builder
	root.write(&out)
	return p, root, out.String(), nil
}

// String returns the pattern.
func (r *Regexp) String() string { return r.pattern }

// Weight returns the instructions to which the pattern compiles, roughly: what it costs in memory.
func (r *Regexp) Weight() int { return r.weight }

// Groups returns the number of capturing groups.
func (r *Regexp) Groups() int { return len(r.names) - 1 }

// Group returns the number of the group with a name, 0 when there is none.
func (r *Regexp) Group(name string) int {
	for i, own := range r.names {
		if own == name && own != "" {
			return i
		}
	}
	return 0
}

// Match reports whether the pattern matches anywhere in the subject.
func (r *Regexp) Match(subject string) bool {
	if !r.prefix.begins(subject) {
		return false
	}
	if r.prefix.whole {
		return true
	}
	if simple(subject) {
		return r.re.MatchString(subject)
	}
	return r.re.MatchString(encode(subject))
}

// Find returns the captures of the first match, those of the whole pattern first. A group that has not taken part in
// the match is empty. It returns nil when there is no match.
func (r *Regexp) Find(subject string) []string {
	if !r.prefix.begins(subject) {
		return nil
	}
	if simple(subject) {
		return r.re.FindStringSubmatch(subject)
	}
	captures := r.re.FindStringSubmatch(encode(subject))
	for i, capture := range captures {
		captures[i] = decode(capture)
	}
	return captures
}

// private is where bytes are that Go's expressions would not take as one character each: those of ASCII's upper half,
// and line feeds but the last byte of a subject. So "(?m:$)" matches there and at the very end only, which is PCRE's $.
const private = 0xe000

// simple reports whether a subject is its own encoding.
func simple(subject string) bool {
	for i := range len(subject) {
		if c := subject[i]; c >= 0x80 || c == '\n' {
			return false
		}
	}
	return true
}

func encode(subject string) string {
	var text strings.Builder
	for i := range len(subject) {
		c := subject[i]
		if c >= 0x80 || c == '\n' && i < len(subject)-1 {
			_, _ = text.WriteRune(private + rune(c))
		} else {
			_ = text.WriteByte(c)
		}
	}
	return text.String()
}

func decode(text string) string {
	var subject strings.Builder
	for _, c := range text {
		_ = subject.WriteByte(byte(c)) // The private characters begin at a multiple of 256.
	}
	return subject.String()
}

// prefix is what every subject of an anchored pattern begins with.
type prefix struct {
	text string // in lower case when fold is set
	fold bool
	// whole is set when every such subject matches.
	whole bool
}

func (p *prefix) begins(subject string) bool {
	if !p.fold {
		return strings.HasPrefix(subject, p.text)
	}
	if len(subject) < len(p.text) {
		return false
	}
	for i := range len(p.text) {
		if lower(subject[i]) != p.text[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// Unsupported returns the construct for which a pattern was refused; empty when the error is another one.
func Unsupported(err error) string {
	if refused, is := errors.AsType[*UnsupportedError](err); is {
		return refused.Construct
	}
	return ""
}
