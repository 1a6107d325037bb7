package router

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

func satisfying(names ...string) *dynamic.Middleware {
	return &dynamic.Middleware{SatisfyAny: &dynamic.SatisfyAny{Middlewares: names}}
}

// TestSatisfyAnyFindsItsMembers changes a member, takes it away and brings it back.
func TestSatisfyAnyFindsItsMembers(t *testing.T) {
	b := apiBench(t)
	elsewhere, everywhere := allowing(nil, "198.51.100.1"), allowing(nil, "0.0.0.0/0", "::/0")
	b.middleware("any@file", satisfying("lists", "second@file"))
	b.middleware("lists@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"deny", "first"}}})
	b.middleware("deny@file", &dynamic.Middleware{IPDenyList: &dynamic.IPDenyList{SourceRange: []string{"198.51.100.9"}}})
	b.middleware("first@file", &elsewhere)
	b.middleware("second@file", &elsewhere)
	b.router("r@file", "Path(`/x`)", "api@internal", "any")
	b.all()
	want := func(what string, status int) {
		t.Helper()
		if got, _, _ := b.get("http://x.test/x"); got != status {
			t.Errorf("%s: status %d, want %d", what, got, status)
		}
	}
	want("neither", http.StatusForbidden)
	b.middleware("first@file", &everywhere)
	b.all()
	if got, _, _ := b.get("http://x.test/x"); got == http.StatusForbidden || got == http.StatusServiceUnavailable {
		t.Errorf("a member of a chain: status %d", got)
	}
	b.middleware("first@file", &elsewhere)
	b.all()
	want("it has changed back", http.StatusForbidden)
}

// TestSatisfyAnyRefuses what is no member, and references that lead back.
func TestSatisfyAnyRefuses(t *testing.T) {
	list := allowing(nil, "198.51.100.1")
	for name, test := range map[string]struct {
		members []string
		reason  string
	}{
		"itself":         {[]string{"list", "any"}, "refers to itself: any@file -> any@file"},
		"through others": {[]string{"around"}, "refers to itself: any@file -> around@file -> any@file"},
		"missing":        {[]string{"list", "nowhere"}, `middleware "nowhere@file" does not exist`},
		"another kind":   {[]string{"list", "prefix"}, "satisfyAny.middlewares: prefix is of a kind that cannot be a member"},
		"invalid":        {[]string{"list", "invalid"}, "ipAllowList.sourceRange is empty"},
		"none":           {nil, "satisfyAny.middlewares is empty"},
	} {
		b := apiBench(t)
		b.middleware("any@file", satisfying(test.members...))
		b.middleware("around@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"any"}}})
		b.middleware("list@file", &list)
		b.middleware("prefix@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/x"}})
		b.middleware("invalid@file", &dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{}})
		b.router("r@file", "Path(`/x`)", "api@internal", "any")
		b.all()
		if status, _, _ := b.get("http://x.test/x"); status != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d", name, status)
		}
		reason := ""
		for _, verdict := range b.compiled.Verdicts {
			if verdict.Ref.Name == "any@file" {
				reason = verdict.Reason
			}
		}
		if !strings.Contains(reason, test.reason) {
			t.Errorf("%s: %q, want %q", name, reason, test.reason)
		}
	}
}

// TestSatisfyAnyIsValidByItself whatever its members are.
func TestSatisfyAnyIsValidByItself(t *testing.T) {
	b := apiBench(t)
	reference := ref(dynamic.KindMiddleware, "any@file")
	if verdict := b.compiler.Validate(reference, satisfying("a", "b")); verdict.Status == dynamic.Quarantined {
		t.Error(verdict)
	}
	if verdict := b.compiler.Validate(reference, satisfying()); verdict.Status != dynamic.Quarantined {
		t.Error(verdict)
	}
}
