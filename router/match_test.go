package router_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/router/rule"
)

// TestRulesAsTreesNeedNoQuoting has values that a text would have to quote.
func TestRulesAsTreesNeedNoQuoting(t *testing.T) {
	for _, value := range []string{
		"a`b", `a"b`, `a\b`, "a\\`\"b", "(a)", "a && b", "a`) || Host(`*", `a") || Host("*`, "{a}", "ä",
	} {
		t.Run(value, func(t *testing.T) {
			target, verdicts := newRouters(t, map[string]*dynamic.Router{
				"tree@file": {
					Service: "a@internal",
					Match: &dynamic.Match{All: []dynamic.Match{
						{Name: "Path", Args: []string{"/p"}},
						{Any: []dynamic.Match{
							{Name: "Header", Args: []string{"X-A", value}},
							{Name: "Query", Args: []string{"q", value}},
						}},
						{Not: &dynamic.Match{Name: "Header", Args: []string{"X-B", value}}},
					}},
				},
				"rest@file": {Service: "b@internal", Rule: "PathPrefix(`/`)"},
			})
			if len(verdicts) > 0 {
				t.Fatalf("verdicts %v", verdicts)
			}
			check := func(query string, header http.Header, want string) {
				t.Helper()
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/p?q="+url.QueryEscape(query),
					http.NoBody)
				request.Header = header
				if got := answering(target, request); got != want {
					t.Errorf("q=%q and %v are answered by %s, want %s", query, header, got, want)
				}
			}
			check("", http.Header{"X-A": {value}}, "a")
			check(value, http.Header{}, "a")
			check("", http.Header{}, "b")
			check(value+"x", http.Header{"X-A": {"a"}}, "b")
			check(value, http.Header{"X-B": {value}}, "b")

			listed := target.Table().Routes()[0]
			if parsed, err := rule.Parse(listed.Rule); err != nil || parsed.Length() != listed.Priority ||
				listed.Name != "tree@file" {
				t.Errorf("the list begins with %+v, of which the rule has the error %v", listed, err)
			}
			answer, err := target.Table().Explain(router.Question{
				Method: http.MethodGet, URL: "http://x.test/p", Header: http.Header{"X-A": {value}},
			})
			if err != nil || answer.Router == nil || answer.Router.Rule != listed.Rule || len(answer.Router.Why) != 3 {
				t.Errorf("explained as %+v: %v", answer.Router, err)
			}
		})
	}
}

// TestRulesAsTreesAreChecked demands a verdict on a router that says two things, or none.
func TestRulesAsTreesAreChecked(t *testing.T) {
	path := &dynamic.Match{Name: "Path", Args: []string{"/p"}}
	tests := []struct {
		name   string
		router dynamic.Router
		reason string
	}{
		{"text and tree", dynamic.Router{Rule: "Path(`/p`)", Match: path}, "the rule is given twice, as text and as a tree"},
		{
			"an empty argument",
			dynamic.Router{Match: &dynamic.Match{Name: "PathPrefix", Args: []string{""}}},
			"rule: PathPrefix: the argument is empty",
		},
		{
			"an empty tree",
			dynamic.Router{Match: &dynamic.Match{}},
			"rule: a part of the rule is not exactly one of a matcher, All, Any and Not",
		},
		{
			"an unknown language",
			dynamic.Router{RuleSyntax: "v4", Match: path},
			`ruleSyntax "v4" is neither v2 nor v3`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.router.Service = "a@internal"
			target, verdicts := newRouters(t, map[string]*dynamic.Router{"r@file": &test.router})
			if len(verdicts) != 1 || verdicts[0].Status != dynamic.Quarantined ||
				verdicts[0].ReasonCode() != dynamic.CodeInvalidRule ||
				verdicts[0].Reason != test.reason {
				t.Errorf("verdicts %+v, want %s", verdicts, test.reason)
			}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/p", http.NoBody)
			if got := answering(target, request); got != "Not Found" {
				t.Errorf("answered by %s", got)
			}
		})
	}
}

// TestNormalizedPathsSelectRouters has paths that two routers would share if an encoded slash were none.
func TestNormalizedPathsSelectRouters(t *testing.T) {
	target, verdicts := newRouters(t, map[string]*dynamic.Router{
		"admin@file": {Service: "a@internal", Rule: "NormalizedPathPrefix(`/admin/`)", Priority: 1, Precedence: []int64{7}},
		"rest@file":  {Service: "b@internal", Rule: "PathPrefix(`/`)", Priority: 1},
	})
	if len(verdicts) > 0 {
		t.Fatalf("verdicts %v", verdicts)
	}
	for path, want := range map[string]string{
		"/admin/x": "a", "/admin%2Fx": "a", "/x%2F..%2Fadmin/": "a", "/admin": "b", "/admin/..%2Fx": "b",
		"/admin/..%2F../x": "b",
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test"+path, http.NoBody)
		if got := answering(target, request); got != want {
			t.Errorf("%s is answered by %s, want %s", path, got, want)
		}
	}
	answer, err := target.Table().Explain(router.Question{Method: http.MethodGet, URL: "http://x.test/admin%2Fx"})
	if err != nil || answer.Router == nil || answer.Router.Name != "admin@file" {
		t.Errorf("explained as %+v: %v", answer.Router, err)
	}
}
