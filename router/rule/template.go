package rule

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// template is a text of the v2 language in which {name:regexp} or {name} is a variable part.
type template struct {
	parts []part
}

// part is a literal text, or a pattern.
type part struct {
	literal, pattern string
	varies           bool
}

// templateIn returns the content of the first braces of s that the v2 language would take for a template, or "".
// The bounds of a repetition, as in a{2,3}, are none.
func templateIn(s string) string {
	for {
		_, after, found := strings.Cut(s, "{")
		if !found {
			return ""
		}
		if end := closing(after); end > 0 && isTemplateName(after[:end]) {
			return after[:end]
		}
		s = after
	}
}

// closing returns the index of the brace that closes one that was opened just before s, or -1.
func closing(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// isTemplateName reports whether the content of braces is a name, or a name with a pattern after a colon.
func isTemplateName(content string) bool {
	name, _, _ := strings.Cut(content, ":")
	for i := range len(name) {
		if c := name[i]; !expression.IsLetter(c) && (i == 0 || !expression.IsDigit(c) && c != '-') {
			return false
		}
	}
	return name != ""
}

// parseTemplate splits a text into literals and patterns. missing is the pattern of a name without one.
func parseTemplate(s, missing string) (template, *fault) {
	var t template
	for rest := s; ; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") || found && closing(after) < 0 {
			return template{}, expression.Faultf(0, "%q has braces without their counterpart", expression.Clip(s))
		}
		t = t.add(part{literal: before})
		if !found {
			return t, nil
		}
		end := closing(after)
		name, pattern, given := strings.Cut(after[:end], ":")
		if !given {
			pattern = missing
		}
		if name == "" || pattern == "" {
			return template{}, expression.Faultf(0, "{%s} is not {name} or {name:regexp}", expression.Clip(after[:end]))
		}
		if _, err := syntax.Parse(pattern, syntax.Perl); err != nil { // What is around it must not complete it.
			return template{}, expression.InvalidPattern(0, pattern, err)
		}
		t = t.add(part{pattern: pattern, varies: true})
		rest = after[end+1:]
	}
}

func (t template) add(p part) template {
	if p.varies || p.literal != "" {
		t.parts = append(t.parts, p)
	}
	return t
}

// varies reports whether the template has a pattern at all.
func (t template) varies() bool {
	for _, p := range t.parts {
		if p.varies {
			return true
		}
	}
	return false
}

// lowerLiterals returns the template with its literals in lower case, as hosts are when they are matched.
func (t template) lowerLiterals() template {
	lowered := template{parts: slices.Clone(t.parts)}
	for i := range lowered.parts {
		lowered.parts[i].literal = strings.ToLower(lowered.parts[i].literal)
	}
	return lowered
}

// caseless reports whether the patterns match the same hosts, which are in lower case, with and without the flag i.
// It holds of those without a letter in upper case, a range that could include some, and an escape but `\.`, `\d` and
// `\w`, and is false for others.
func (t template) caseless() bool {
	simple := regexp.MustCompile(`^([a-z0-9.+*?(){},|$]|\\[.dw]|\[\^?([a-z0-9]-[a-z0-9]|[a-z0-9._])*-?\])*$`)
	uppercase := regexp.MustCompile(`[0-9]-[a-z]`)
	return !slices.ContainsFunc(t.parts, func(p part) bool {
		return p.varies && (!simple.MatchString(p.pattern) || uppercase.MatchString(p.pattern))
	})
}

// expression returns the template as one regular expression, anchored at the front, and at the end when whole.
func (t template) expression(whole bool) string {
	var b strings.Builder
	b.WriteByte('^')
	for _, p := range t.parts {
		switch {
		case !p.varies:
			b.WriteString(regexp.QuoteMeta(p.literal))
		case reaches(p.pattern):
			b.WriteString("(?:" + p.pattern + ")")
		default:
			b.WriteString(p.pattern)
		}
	}
	if whole {
		b.WriteByte('$')
	}
	return b.String()
}

// reaches reports whether a pattern may mean something else with a text before or behind it: by alternatives, flags,
// quotes, and octal numbers. Those that count as simple are shown without a group.
func reaches(pattern string) bool {
	for i := range len(pattern) - 1 {
		if pattern[i] == '\\' && (pattern[i+1] == 'Q' || expression.IsDigit(pattern[i+1])) {
			return true
		}
	}
	return strings.Contains(pattern, "|") || strings.Contains(pattern, "(?")
}
