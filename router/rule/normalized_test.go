package rule

import (
	"strings"
	"testing"
)

func TestNormalizedMatchers(t *testing.T) {
	request := func(escaped string) Request {
		return Request{Path: escaped, Escaped: escaped}
	}
	check(t, []decision{
		{"NormalizedPath(`/a/b`)", request("/a/b"), true},
		{"NormalizedPath(`/a/b`)", request("/a%2Fb"), true},
		{"NormalizedPath(`/a/b`)", request("/c/..//a/./b"), true},
		{"NormalizedPath(`/a/b`)", request("/a/b/"), false},
		{"NormalizedPath(`/a//b`)", request("/a//b"), false},
		{"NormalizedPath(`/é ?%`)", request("/%C3%A9%20%3F%25"), true},
		{"NormalizedPathPrefix(`/a/`)", request("/a%2Fb"), true},
		{"NormalizedPathPrefix(`/a/`)", request("/a/..%2Fb"), false},
		{"NormalizedPathPrefix(`/`)", request("/../a"), false},
		{"NormalizedPathPrefix(`/`)", request("/a%00"), false},
		{"NormalizedPathPrefix(`/`)", request("*"), false},
		{"NormalizedPathRegexp(`(?i)^/foo`)", request("/x/../FOObar"), true},
		{"NormalizedPathRegexp(`^/foo$`)", request("/foo%0A"), true},
		{"NormalizedPathRegexp(`(?:)`)", request("*"), false},
		{"NormalizedPathRegexp(`^/.$`)", request("/%C3%A9"), false},
		{"!NormalizedPathRegexp(`a`)", request("/a%00"), true},
		{"Path(`/a%2Fb`) && NormalizedPath(`/a/b`)", request("/a%2Fb"), true},
	})
}

// TestNormalizedIsReset checks that a request that is used again is normalised again.
func TestNormalizedIsReset(t *testing.T) {
	r := Request{Escaped: "/a%2Fb"}
	if got := r.Normalized(); got != "/a/b" {
		t.Errorf("got %q", got)
	}
	r.Reset()
	r.Escaped = "/c"
	if got := r.Normalized(); got != "/c" {
		t.Errorf("got %q", got)
	}
}

// TestNormalizedPatternsShareTheBudget compiles patterns of both languages in one rule.
func TestNormalizedPatternsShareTheBudget(t *testing.T) {
	pattern := strings.Repeat("[a-z]{1000}", 20)
	_, err := Parse("PathRegexp(`" + pattern + "`)" + strings.Repeat(" || NormalizedPathRegexp(`"+pattern+"`)", 3))
	if err == nil || !strings.Contains(err.Error(), "repeat too much") {
		t.Errorf("got %v", err)
	}
}
