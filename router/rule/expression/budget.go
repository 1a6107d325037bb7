package expression

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"weak"

	"github.com/sluiceproxy/sluice/nginx/pcre"
)

const (
	// MaxPattern bounds the bytes of one regular expression.
	MaxPattern = 4 << 10
	// maxProgram bounds the instructions of all regular expressions of one rule together.
	maxProgram = 64 << 10
	// classShare is how many runes of a character class weigh as much as one instruction.
	classShare = 8
)

// Patterns are the regular expressions of the rules in use, of which equal ones are compiled once. The zero value is
// usable; it belongs to one goroutine.
type Patterns struct {
	re2  compiled[regexp.Regexp]
	pcre compiled[pcre.Regexp]
}

// compiled are the expressions of one syntax.
type compiled[R any] struct {
	known map[string]pattern[R]
	// sweep is the number of expressions at which those without a rule are removed.
	sweep int
}

type pattern[R any] struct {
	// compiled ends with the last rule that has it.
	compiled weak.Pointer[R]
	weight   int
}

// leastPatterns is the number of expressions below which none is removed.
const leastPatterns = 1024

// get returns an expression and its weight; nil if it is not in use.
func (c *compiled[R]) get(text string) (one *R, weight int) {
	known := c.known[text]
	return known.compiled.Value(), known.weight
}

func (c *compiled[R]) put(text string, one *R, weight int) {
	if len(c.known) >= c.sweep {
		for text, known := range c.known {
			if known.compiled.Value() == nil {
				delete(c.known, text)
			}
		}
		c.sweep = max(leastPatterns, 2*len(c.known))
	}
	if c.known == nil {
		c.known = map[string]pattern[R]{}
	}
	c.known[text] = pattern[R]{weak.Make(one), weight}
}

// Budget adds up what the regular expressions of one rule cost in memory.
type Budget struct {
	program int
	// patterns are those of other rules; nil for none.
	patterns *Patterns
}

// shared returns the expressions of other rules, or empty ones.
func (b *Budget) shared() *Patterns {
	if b.patterns == nil {
		b.patterns = &Patterns{}
	}
	return b.patterns
}

// Compile compiles argument number arg as a regular expression, within the budget.
func (b *Budget) Compile(arg int, pattern string) (*regexp.Regexp, *Fault) {
	if len(pattern) > MaxPattern {
		return nil, Faultf(arg, "the regular expression has %d bytes, more than the %d that are allowed",
			len(pattern), MaxPattern)
	}
	if known, cost := b.shared().re2.get(pattern); known != nil {
		if wrong := b.Spend(arg, cost); wrong != nil {
			return nil, wrong
		}
		return known, nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, InvalidPattern(arg, pattern, err)
	}
	cost := weight(tree, maxProgram)
	if wrong := b.Spend(arg, cost); wrong != nil {
		return nil, wrong
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, InvalidPattern(arg, pattern, err)
	}
	b.shared().re2.put(pattern, compiled, cost)
	return compiled, nil
}

// CompilePCRE is [Budget.Compile] for a pattern of PCRE.
func (b *Budget) CompilePCRE(arg int, pattern string) (*pcre.Regexp, *Fault) {
	known, cost := b.shared().pcre.get(pattern)
	if known == nil {
		compiled, err := pcre.Compile(pattern, 0)
		if err != nil {
			return nil, Faultf(arg, "%q: %v", Clip(pattern), err)
		}
		known, cost = compiled, compiled.Weight()
		b.shared().pcre.put(pattern, known, cost)
	}
	if wrong := b.Spend(arg, cost); wrong != nil {
		return nil, wrong
	}
	return known, nil
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
