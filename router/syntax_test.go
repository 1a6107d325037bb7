package router_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestSyntaxOfARule shows which language a rule is read in: that of its router, else the default one.
func TestSyntaxOfARule(t *testing.T) {
	const both, v2, v3 = "Host(`x.test`)", "PathPrefix(`/{any:p|q}`) && Method(`GET`, `PUT`)", "PathRegexp(`^/p`)"
	tests := []struct {
		name, usual, own, rule string
		// refused is the message, or "" for a rule that serves.
		refused string
	}{
		{"v3 is the default", "", "", v3, ""},
		{"v2 under the default", "", "", v2, "rule is written in the v2 syntax; in v3 it is: " +
			"PathRegexp(`^/(?:p|q)`) && (Method(`GET`) || Method(`PUT`))"},
		{"v1 under the default", "", "", "Host:x.test;PathPrefixStrip:/p", "rule is written in the v1 syntax; " +
			"in v3 it is: Host(`x.test`) && PathPrefix(`/p`), with the middleware stripPrefix"},
		{"v2 of its own", "", "v2", v2, ""},
		{"v2 in capitals", "", "V2", v2, ""},
		{"v2 by default", "v2", "", v2, ""},
		{"v3 of its own", "v2", "v3", v3, ""},
		{"default means v3", "v2", "default", v3, ""},
		{"a rule of both", "v2", "", both, ""},
		{"v3 under v2", "v2", "", v3, "rule in the v2 syntax: column 1: unknown matcher \"PathRegexp\"; " +
			"the rule is valid in the v3 syntax: set ruleSyntax: v3"},
		{"no language", "v2", "", "Hots(`x.test`)", "rule in the v2 syntax: column 1: unknown matcher \"Hots\", " +
			"did you mean \"Host\"?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target, verdicts := newRoutersIn(t, test.usual, map[string]*dynamic.Router{
				"r@file": {Rule: test.rule, RuleSyntax: test.own, Service: "a@internal"},
			})
			want, refused := "a", ""
			if len(verdicts) > 0 {
				want, refused = http.StatusText(http.StatusNotFound), verdicts[0].Reason
			}
			if refused != test.refused {
				t.Errorf("refused with %q, want %q", refused, test.refused)
			}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/p", http.NoBody)
			if got := answering(target, request); got != want {
				t.Errorf("answered by %s, want %s", got, want)
			}
			if refused == "" && target.Table().Routes()[0].Priority != len(test.rule) {
				t.Errorf("priority %d, want the length of the rule as written", target.Table().Routes()[0].Priority)
			}
		})
	}
}
