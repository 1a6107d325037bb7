package pcre_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/nginx/pcre"
)

// TestRefusals has the constructs that linear expressions lack, or that versions of PCRE2 read differently.
func TestRefusals(t *testing.T) {
	for pattern, want := range map[string]pcre.UnsupportedError{
		`a(?=b)`:                       {"lookahead", 1},
		`a(?!b)`:                       {"negative lookahead", 1},
		`(?*b)`:                        {"non-atomic lookahead", 0},
		`(?<=a)b`:                      {"lookbehind", 0},
		`x(?<!a)b`:                     {"negative lookbehind", 1},
		`(?<*b)`:                       {"non-atomic lookbehind", 0},
		`(?>a)`:                        {"atomic group", 0},
		`(?|(a)|(b))`:                  {"branch reset group", 0},
		`(a)(?(1)b)`:                   {"conditional group", 3},
		`(a)\1`:                        {"backreference", 3},
		`(a)\9`:                        {"backreference", 3},
		`(a)\g1`:                       {"backreference", 3},
		`(a)\g{-1}`:                    {"backreference", 3},
		`(?<n>a)\k<n>`:                 {"backreference", 7},
		`(?<n>a)\k{n}`:                 {"backreference", 7},
		`(?<n>a)\k'n'`:                 {"backreference", 7},
		`(?P<n>a)(?P=n)`:               {"backreference", 8},
		`(?P<n>a)(?P>n)`:               {"recursion", 8},
		`(?<n>a)(?&n)`:                 {"recursion", 7},
		`(?R)`:                         {"recursion", 0},
		`(?0)`:                         {"recursion", 0},
		`(a)(?1)`:                      {"recursion", 3},
		`(a)(?+1)(b)`:                  {"recursion", 3},
		`(a)(?-1)`:                     {"recursion", 3},
		`(a)\g<1>`:                     {"recursion", 3},
		`(a)\g'1'`:                     {"recursion", 3},
		`(?C)`:                         {"callout", 0},
		`(?C1)`:                        {"callout", 0},
		`a*+`:                          {"possessive quantifier", 1},
		`a++`:                          {"possessive quantifier", 1},
		`a?+`:                          {"possessive quantifier", 1},
		`a{1,2}+`:                      {"possessive quantifier", 1},
		`a\Kb`:                         {`\K`, 1},
		`\Ga`:                          {`\G`, 0},
		`a\Rb`:                         {`\R`, 1},
		`\X`:                           {`\X`, 0},
		`\C`:                           {`\C`, 0},
		`\o{101}`:                      {`\o`, 0},
		`\N{U+41}`:                     {"named character", 0},
		`\p{L}`:                        {"Unicode property", 0},
		`\PL`:                          {"Unicode property", 0},
		`[\p{L}]`:                      {"Unicode property", 1},
		`(*UTF8)a`:                     {"backtracking verb", 0},
		`(*COMMIT)`:                    {"backtracking verb", 0},
		`a(*SKIP)(*F)|b`:               {"backtracking verb", 1},
		`(*:mark)a`:                    {"backtracking verb", 0},
		`(*pla:a)`:                     {"group with an alphabetic name", 0},
		`(*atomic:a)`:                  {"group with an alphabetic name", 0},
		`(?m)^a$`:                      {"multiline mode", 0},
		`(?im:a)`:                      {"multiline mode", 0},
		`(?x)a b`:                      {"extended mode", 0},
		`(?xx)[a b]`:                   {"extended mode", 0},
		`(?n)(a)`:                      {"option without captures", 0},
		`(?U)a*`:                       {"ungreedy mode", 0},
		`(?J)(?<n>a)(?<n>b)`:           {"duplicate names", 0},
		`(?^)a`:                        {"reset of options", 0},
		`(?^i:a)`:                      {"reset of options", 0},
		`(?aD)\d`:                      {"option of ASCII classes", 0},
		`(?r)a`:                        {"option of caseless restriction", 0},
		`(?[a])`:                       {"extended character class", 0},
		`[[.a.]]`:                      {"POSIX collating element or unknown class", 1},
		`[[=a=]]`:                      {"POSIX collating element or unknown class", 1},
		`[[:<:]]a`:                     {"POSIX collating element or unknown class", 1},
		`[[:nope:]]`:                   {"POSIX collating element or unknown class", 1},
		`[a-\d]`:                       {"range with a class", 1},
		`[\d-z]`:                       {"range with a class", 1},
		`[[:digit:]-z]`:                {"range with a class", 1},
		`[\Qa]\E]`:                     {"quoting in a class", 1},
		`[a\E]`:                        {"quoting in a class", 2},
		`[\101]`:                       {"octal number in a class", 1},
		`a{1001}`:                      {"repetition above 1000", 1},
		`a{0,65535}`:                   {"repetition above 1000", 1},
		`a{,3}`:                        {"quantifier with spaces or without a lower bound", 1},
		`a{1, 3}`:                      {"quantifier with spaces or without a lower bound", 1},
		`a{ 1}`:                        {"quantifier with spaces or without a lower bound", 1},
		`a{2}{3}`:                      {"quantifier of a quantifier", 1},
		`a**`:                          {"quantifier of a quantifier", 1},
		`^*a`:                          {"quantifier of an assertion", 1},
		`a\b?`:                         {"quantifier of an assertion", 3},
		`(a*)*`:                        {"unlimited repetition of a group that can be empty", 0},
		`b(?:(a)|)+`:                   {"unlimited repetition of a group that can be empty", 1},
		`(|a){2,}`:                     {"unlimited repetition of a group that can be empty", 0},
		`(?:a{1000}){1000}`:            {"repetition to more than 65536 instructions", 0},
		`(a{40}){40}`:                  {"nested repetition above 1000", 0},
		strings.Repeat("(", 300):       {"nesting deeper than 200", 200},
		strings.Repeat("a", 1+(4<<10)): {"a pattern of more than 4096 bytes", 0},
	} {
		_, err := pcre.Compile(pattern, 0)
		refused, is := errors.AsType[*pcre.UnsupportedError](err)
		if !is || *refused != want {
			t.Errorf("%.40s: %v, want %+v", pattern, err, want)
			continue
		}
		if !strings.Contains(err.Error(), want.Construct) || pcre.Unsupported(err) != want.Construct {
			t.Errorf("%.40s: the error %q does not name %q", pattern, err, want.Construct)
		}
		if checked := pcre.Check(pattern, 0); checked == nil || checked.Error() != err.Error() {
			t.Errorf("%.40s: Check says %v", pattern, checked)
		}
	}
}

// TestSyntax has texts that are no patterns for PCRE2 either.
func TestSyntax(t *testing.T) {
	for pattern, offset := range map[string]int{
		`(a`: 0, `a)`: 1, `[a`: 0, `[]`: 0, `[^]`: 0, `*a`: 0, `a|+`: 2, `(?`: 0, `(?a`: 0, `(?<1n>a)`: 0, `(?<n`: 0,
		`(?<>a)`:  0,
		`(?'n>a)`: 0, `(?z)`: 0, `(?i`: 0, `(?i)*`: 4, `(?#a`: 0, `a\`: 1, `\y`: 0, `\i`: 0, `\L`: 0, `\u0041`: 0, `[z-a]`: 1,
		`a{2,1}`: 1, `a{65536}`: 1, `{1}`: 0, `(*)`: 0, `\x{100}`: 0, `\x{zz}`: 0, `\c`: 0, `\777`: 0, "a\x00": 1,
		`(?<n>a)(?<n>b)`: 7, `[a-`: 1, `[a\`: 2, `(?P)`: 0,
	} {
		_, err := pcre.Compile(pattern, 0)
		wrong, is := errors.AsType[*pcre.SyntaxError](err)
		switch {
		case pattern == `\777` || pattern == `(?a`: // Refused before it is read to its end.
			if pcre.Unsupported(err) == "" {
				t.Errorf("%s: %v", pattern, err)
			}
		case !is || wrong.Offset != offset || pcre.Unsupported(err) != "":
			t.Errorf("%s: %v, want an error at byte %d", pattern, err, offset)
		}
	}
}
