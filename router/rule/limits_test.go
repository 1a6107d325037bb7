package rule

import (
	"errors"
	"strings"
	"testing"
)

func TestSpellingsOfNames(t *testing.T) {
	for _, text := range []string{"PathPrefix(`/`)", "pathprefix(`/`)", "PATHPREFIX(`/`)", "Pathprefix(`/`)"} {
		if got := mustParse(t, text).Canonical(); got != "PathPrefix(`/`)" {
			t.Errorf("%s: got %s", text, got)
		}
	}
	for _, text := range []string{"pathPrefix(`/`)", "PATHprefix(`/`)", "PathPREFIX(`/`)"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s: got no error", text)
		}
	}
}

// TestHostileRules parses what would cost stack, memory or time without bounds.
func TestHostileRules(t *testing.T) {
	tests := []struct {
		name, rule string
		column     int
		message    string
	}{
		{"empty", "", 1, "the rule is empty"},
		{"blank", " \n\t", 1, "the rule is empty"},
		{"not UTF-8", "Path(`/\xff`)", 8, "the rule is not valid UTF-8"},
		{"too long", strings.Repeat(" ", maxLength+1), maxLength + 1, "more than the 262144 that are allowed"},
		{"parentheses", strings.Repeat("(", 100_000), maxDepth + 1, "nest more than 100 deep"},
		{"negations", strings.Repeat("!", 100_000), maxDepth + 1, "nest more than 100 deep"},
		{"pattern", "PathRegexp(`" + strings.Repeat("a", maxPattern+1) + "`)", 12, "has 4097 bytes"},
		{
			"many patterns", "PathRegexp(`(\\pL){1000}`)" + strings.Repeat(" || PathRegexp(`(\\pL){1000}`)", 20), 12,
			"the regular expressions of one rule repeat too much",
		},
		{"string", "Path(`" + strings.Repeat("/", 1000), 6, "never closed by a backtick"},
		{"name", strings.Repeat("a", 100_000), 1, "unknown matcher"},
	}
	for _, test := range tests {
		_, err := Parse(test.rule)
		wrong, is := errors.AsType[*Error](err)
		if !is {
			t.Errorf("%s: got %v, want an Error", test.name, err)
			continue
		}
		if wrong.Column != test.column || !strings.Contains(wrong.Message, test.message) || len(wrong.Message) > 1000 {
			t.Errorf("%s: got %d %q, want %d %q", test.name, wrong.Column, wrong.Message, test.column, test.message)
		}
	}
}

func TestLongRulesWork(t *testing.T) {
	last := "Host(`last.example.com`)"
	tests := map[string]string{
		"many alternatives": strings.Repeat("Host(`a.example.com`) || ", 10_000) + last,
		"many conditions":   strings.Repeat("Method(`GET`) && ", 10_000) + last,
		"deep negation":     strings.Repeat("!", maxDepth) + last,
		"deep parentheses":  strings.Repeat("(", maxDepth) + last + strings.Repeat(")", maxDepth),
	}
	for name, text := range tests {
		parsed := mustParse(t, text)
		req := Request{Host: "last.example.com", Method: "GET"}
		if !parsed.Match(&req) {
			t.Errorf("%s: the request does not match", name)
		}
		if matched, _ := parsed.Explain(&req); !matched {
			t.Errorf("%s: Explain disagrees with Match", name)
		}
		if parsed.Keys(); parsed.Domains()[0] == "" {
			t.Errorf("%s: an empty domain", name)
		}
	}
}
