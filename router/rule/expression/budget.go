package expression

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// MaxPattern bounds the bytes of one regular expression.
	MaxPattern = 4 << 10
	// maxProgram bounds the instructions of all regular expressions of one rule together.
	maxProgram = 64 << 10
	// classShare is how many runes of a character class weigh as much as one instruction.
	classShare = 8
)

// Budget adds up what the regular expressions of one rule cost in memory.
type Budget struct{ program int }

// Compile compiles argument number arg as a regular expression, within the budget.
func (b *Budget) Compile(arg int, pattern string) (*regexp.Regexp, *Fault) {
	if len(pattern) > MaxPattern {
		return nil, Faultf(arg, "the regular expression has %d bytes, more than the %d that are allowed",
			len(pattern), MaxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, InvalidPattern(arg, pattern, err)
	}
	if wrong := b.Spend(arg, weight(tree, maxProgram)); wrong != nil {
		return nil, wrong
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, InvalidPattern(arg, pattern, err)
	}
	return compiled, nil
}

// Spend adds the instructions of a regular expression, which argument number arg is.
func (b *Budget) Spend(arg, instructions int) *Fault {
	b.program += instructions
	if b.program > maxProgram {
		return Faultf(arg,
			"the regular expressions of one rule repeat too much: they expand to more than %d instructions",
			maxProgram)
	}
	return nil
}

// InvalidPattern returns the error of a pattern, with its position if that is not the whole pattern.
func InvalidPattern(arg int, pattern string, err error) *Fault {
	reason, place := err.Error(), ""
	if wrong, is := errors.AsType[*syntax.Error](err); is {
		reason = wrong.Code.String()
		if wrong.Expr != pattern {
			place = fmt.Sprintf(" at %q", Clip(wrong.Expr))
		}
	}
	return Faultf(arg, "%q is not a regular expression: %s%s", Clip(pattern), reason, place)
}

// weight estimates the instructions that a pattern compiles to before it is compiled, so that nested repetitions
// cost nothing. It counts no further than just above most.
func weight(tree *syntax.Regexp, most int) int {
	w := 1 + len(tree.Rune)/classShare
	if tree.Op == syntax.OpLiteral {
		w = len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		w = min(w+weight(sub, most), most+1)
	}
	if tree.Op == syntax.OpRepeat {
		w = min(w*max(tree.Min, tree.Max, 1), most+1)
	}
	return w
}
