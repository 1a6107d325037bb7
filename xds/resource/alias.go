package resource

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
)

const (
	// tagAlphabet are the characters of a tag in the pattern of an alias.
	tagAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	// tagRest is the text of such a tag after another character of it.
	tagRest = `[-A-Za-z0-9_.]*[A-Za-z0-9]`
	// maxInstructions bounds the size of a compiled pattern.
	maxInstructions = 2000
)

// checkAlias refuses the pattern of an alias for which regular expressions could find another tag than the router.
//
// The router takes the tag that a group captures. Clients only know whether a whole value matches. Both are the same if
// every match passes the group once, and if the characters next to it cannot be those of a tag: then a tag is never a
// part of a longer one.
func checkAlias(config *dynamic.EnvironmentAlias) error {
	if config.Pattern == "" {
		return nil
	}
	before, after, err := environment.SplitPattern(config)
	if err != nil {
		return err
	}
	if _, err := regexp.Compile(before + `(?-i:` + environment.TagPattern + `)` + after); err != nil {
		return fmt.Errorf("the pattern %q is valid only within a group, and clients use it alone", config.Pattern)
	}
	parsed, err := syntax.Parse(before+`(?P<`+environment.TagGroup+`>`+environment.TagPattern+`)`+after, syntax.Perl)
	if err != nil {
		return err
	}
	group := alwaysPassed(parsed)
	if group < 0 {
		return fmt.Errorf("the pattern %q can match without the tag or with several ones, which clients cannot tell apart",
			config.Pattern)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	if len(program.Inst) > maxInstructions {
		return fmt.Errorf("the pattern %q is too large", config.Pattern)
	}
	if touches(program, uint32(2*group)) { //nolint:gosec // the number of a group
		return fmt.Errorf("the pattern %q lets text of a tag be next to the tag, and clients cannot tell where it begins and ends",
			config.Pattern)
	}
	return nil
}

// alwaysPassed returns the number of the group with the tag; -1 if a match can leave it out or repeat it.
func alwaysPassed(parsed *syntax.Regexp) int {
	switch {
	case parsed.Op == syntax.OpCapture && parsed.Name == environment.TagGroup:
		return parsed.Cap
	case parsed.Op == syntax.OpCapture || parsed.Op == syntax.OpConcat:
		for _, part := range parsed.Sub {
			if group := alwaysPassed(part); group >= 0 {
				return group
			}
		}
	}
	return -1
}

// touches reports whether a character of a tag can be right before or right after the group that begins with the
// capture of that number.
func touches(program *syntax.Prog, begin uint32) bool {
	for i := range program.Inst {
		one := &program.Inst[i]
		switch {
		case one.Op == syntax.InstCapture && one.Arg == begin+1:
			if reaches(program, one.Out, map[uint32]bool{}, ofTag) {
				return true
			}
		case ofTag(one):
			if reaches(program, one.Out, map[uint32]bool{}, func(next *syntax.Inst) bool {
				return next.Op == syntax.InstCapture && next.Arg == begin
			}) {
				return true
			}
		}
	}
	return false
}

// reaches reports whether an instruction that is wanted follows at a place, without a character in between. Assertions
// are taken to hold.
func reaches(program *syntax.Prog, at uint32, seen map[uint32]bool, wanted func(*syntax.Inst) bool) bool {
	if seen[at] {
		return false
	}
	seen[at] = true
	one := &program.Inst[at]
	if wanted(one) {
		return true
	}
	switch one.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return reaches(program, one.Out, seen, wanted) || reaches(program, one.Arg, seen, wanted)
	case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop:
		return reaches(program, one.Out, seen, wanted)
	}
	return false
}

// ofTag reports whether an instruction takes a character of a tag.
func ofTag(one *syntax.Inst) bool {
	switch one.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return strings.ContainsFunc(tagAlphabet, one.MatchRune)
	}
	return false
}

// answered returns a regular expression for the tags in the pattern of an alias that are equal to a tag, or below it if
// descendants is set; empty if no tag in a pattern can be one of these.
func answered(tag, splitter string, descendants bool) string {
	if !isAlphanumeric(tag[0]) || strings.Trim(tag, tagAlphabet) != "" {
		return ""
	}
	literal, below := regexp.QuoteMeta(tag), ""
	if descendants && strings.Contains(tagAlphabet, splitter) {
		if below = regexp.QuoteMeta(splitter) + tagRest; isAlphanumeric(splitter[0]) {
			below = regexp.QuoteMeta(splitter) + `(?:` + tagRest + `)?`
		}
	}
	switch whole := isAlphanumeric(tag[len(tag)-1]); {
	case whole && below != "":
		return `(?-i:` + literal + `(?:` + below + `)?)`
	case whole || below != "":
		return `(?-i:` + literal + below + `)`
	}
	return ""
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
