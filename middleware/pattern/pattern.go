// Package pattern compiles the regular expressions of middlewares that match paths, with limits on their size and on
// the results of replacements.
package pattern

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MaxText is the maximum length of an expression or a replacement in bytes.
	MaxText = 4 << 10
	// MaxResult is the maximum length of a replacement's result in bytes; it may repeat parts of the request.
	MaxResult = 64 << 10
	// MaxMatches is the maximum number of replaced matches in one text.
	MaxMatches = 1 << 10
	// maxExpansion is the maximum length of one match's replacement before results are counted.
	maxExpansion = 64 * MaxResult
	// maxProgram is the maximum number of instructions of a compiled expression.
	maxProgram = 64 << 10
	// classShare is the number of runes of a character class that count as one instruction.
	classShare = 8
)

// Regexp is a regular expression with fast rejection of most texts that do not match.
type Regexp struct {
	*regexp.Regexp
	need  string // a part of every match
	begin string // the prefix of every match that is anchored at the beginning
}

// Need returns a text that is a part of every match, the longest known one. It may be empty.
func (re *Regexp) Need() string { return re.need }

// Match reports whether a text matches.
func (re *Regexp) Match(text []byte) bool {
	return bytes.Contains(text, []byte(re.need)) && re.Regexp.Match(text)
}

// MatchString reports whether a text matches.
func (re *Regexp) MatchString(text string) bool {
	return strings.Contains(text, re.need) && re.Regexp.MatchString(text)
}

// FindStringIndex returns the bounds of the first match, or nil.
func (re *Regexp) FindStringIndex(text string) []int {
	if !strings.HasPrefix(text, re.begin) || re.begin == "" && !strings.Contains(text, re.need) {
		return nil
	}
	return re.Regexp.FindStringIndex(text)
}

// Replace replaces all matches by a replacement in the syntax of [regexp.Regexp.Expand]. ok is false if there are more
// than MaxMatches, or the result has more than MaxResult bytes.
func (re *Regexp) Replace(text, replacement string) (result string, ok bool) {
	references := strings.Count(replacement, "$")
	if len(text) < MaxMatches && (len(text)+1)*(len(replacement)+references*len(text)) < maxExpansion {
		// The usual case: the result is short whatever matches.
		result = re.ReplaceAllString(text, replacement)
		return result, len(result) <= MaxResult
	}
	matches := re.FindAllStringSubmatchIndex(text, MaxMatches+1)
	if len(matches) > MaxMatches {
		return "", false
	}
	var out []byte
	done := 0
	for _, match := range matches {
		if references*(match[1]-match[0]) > maxExpansion {
			return "", false
		}
		out = append(out, text[done:match[0]]...)
		out = re.ExpandString(out, replacement, text, match)
		if len(out) > MaxResult {
			return "", false
		}
		done = match[1]
	}
	if len(out)+len(text)-done > MaxResult {
		return "", false
	}
	return string(append(out, text[done:]...)), true
}

// Compile compiles a regular expression in Go's syntax (RE2). Literal percent-encodings match in either case, though
// canonical paths have upper case only: "%2f" means "%2F". The error is a clause that follows the expression's text.
func Compile(text string) (*Regexp, error) {
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	expression := text
	if upperEncodings(tree) {
		expression = tree.String()
	}
	return compile(text, expression, tree)
}

// CompilePrefix compiles an expression that matches at the beginning of a text only, with the same match as without
// this restriction.
func CompilePrefix(text string) (*Regexp, error) {
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	upperEncodings(tree)
	// The text itself is not used: a quotation (\Q) in it could include the parenthesis.
	bounded, err := compile(text, `\A(?:`+tree.String()+`)`, tree)
	if err != nil {
		return nil, err
	}
	free, err := compile(text, tree.String(), tree)
	if err != nil {
		return nil, err
	}
	bounded.begin, _ = free.LiteralPrefix()
	return bounded, nil
}

func parse(text string) (*syntax.Regexp, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("has %d bytes, more than the %d that are allowed", len(text), MaxText)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, invalid(text, err)
	}
	if weight(tree) > maxProgram {
		return nil, fmt.Errorf("repeats too much: it expands to more than %d instructions", maxProgram)
	}
	return tree, nil
}

func compile(text, expression string, tree *syntax.Regexp) (*Regexp, error) {
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, invalid(text, err)
	}
	return &Regexp{Regexp: compiled, need: need(tree)}, nil
}

// need returns the longest literal that is a part of every match.
func need(tree *syntax.Regexp) string {
	switch tree.Op {
	case syntax.OpLiteral:
		// Invalid UTF-8 is matched as the replacement character.
		if tree.Flags&syntax.FoldCase == 0 && !slices.Contains(tree.Rune, utf8.RuneError) {
			return string(tree.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return need(tree.Sub[0])
	case syntax.OpConcat:
		longest := ""
		for _, sub := range tree.Sub {
			if literal := need(sub); len(literal) > len(longest) {
				longest = literal
			}
		}
		return longest
	}
	return ""
}

// invalid returns the error of an expression, with its position if that is not the whole expression.
func invalid(text string, err error) error {
	wrong, is := errors.AsType[*syntax.Error](err)
	switch {
	case !is:
		return fmt.Errorf("is not a regular expression: %w", err)
	case wrong.Expr == text:
		return fmt.Errorf("is not a regular expression: %s", wrong.Code)
	}
	return fmt.Errorf("is not a regular expression: %s at %q", wrong.Code, wrong.Expr)
}

// weight estimates the number of instructions before compiling, so that nested repetitions are cheap to refuse. It
// stops just above the limit.
func weight(tree *syntax.Regexp) int {
	w := 1 + len(tree.Rune)/classShare
	if tree.Op == syntax.OpLiteral {
		w = len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		w = min(w+weight(sub), maxProgram+1)
	}
	if tree.Op == syntax.OpRepeat {
		w = min(w*max(tree.Min, tree.Max, 1), maxProgram+1)
	}
	return w
}

// upperEncodings changes the percent-encodings in the literals of a tree to upper case, and reports whether it changed
// any.
func upperEncodings(tree *syntax.Regexp) (changed bool) {
	for _, sub := range tree.Sub {
		changed = upperEncodings(sub) || changed
	}
	if tree.Op != syntax.OpLiteral || tree.Flags&syntax.FoldCase != 0 {
		return changed
	}
	for i := 0; i+2 < len(tree.Rune); i++ {
		digits := tree.Rune[i+1 : i+3]
		if tree.Rune[i] != '%' || slices.ContainsFunc(digits, notHex) {
			continue
		}
		for at, digit := range digits {
			if digit >= 'a' {
				digits[at], changed = digit-'a'+'A', true
			}
		}
		i += 2
	}
	return changed
}

func notHex(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'f') && (r < 'A' || r > 'F')
}
