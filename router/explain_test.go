package router

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// explained returns the explanation of a GET request.
func (b *bench) explained(url string) Explanation {
	b.t.Helper()
	answer, err := b.target.Table().Explain(Question{Method: http.MethodGet, URL: url})
	if err != nil {
		b.t.Fatal(err)
	}
	return answer
}

func (b *bench) wantNext(url string, want ...string) {
	b.t.Helper()
	var got []string
	for _, next := range b.explained(url).Next {
		got = append(got, next.Name)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: the nearest are %q, want %q", url, got, want)
	}
}

// The host counts most, then the path, then other matchers.
func TestExplainListsTheNearestRouters(t *testing.T) {
	b := newBench(t)
	b.router("shop@file", "Host(`shop.example.com`) && PathPrefix(`/api`)", "a@internal")
	b.router("admin@file", "Host(`admin.example.com`)", "a@internal")
	b.router("shop2@file", "Host(`shop2.example.com`)", "a@internal")
	b.router("wild@file", "Host(`*.example.com`) && Path(`/wild`)", "a@internal")
	b.router("regexp@file", "HostRegexp(`^[a-z]+.example.com$`) && Path(`/regexp`)", "a@internal")
	b.router("anywhere@file", "PathPrefix(`/static`)", "a@internal")
	b.router("post@file", "Host(`shop.example.com`) && PathPrefix(`/api`) && Method(`POST`)", "a@internal")
	b.router("other@file", "Host(`grpc.test`)", "a@internal")
	b.all()
	b.wantNext("http://shop.example.com/nothing", "shop@file", "post@file", "wild@file")
	b.wantNext("http://shop.example.com/ap", "shop@file", "post@file", "wild@file")
	b.wantNext("http://shop.example.com/wildlife", "shop@file", "post@file", "wild@file")
	b.wantNext("http://xx.example.com/regex", "regexp@file", "wild@file", "shop@file")
	b.wantNext("http://admn.example.com/", "wild@file", "regexp@file", "admin@file")
	b.wantNext("http://grpc.tset/", "other@file", "anywhere@file", "shop2@file")
}

func TestExplainFindsATypoAmongManyHosts(t *testing.T) {
	b := newBench(t)
	for i := range 2000 {
		b.router(fmt.Sprintf("app%04d@file", i), fmt.Sprintf("Host(`app%04d.example.com`)", i), "a@internal")
	}
	b.all()
	b.wantNext("http://app055x.example.com/", "app0550@file", "app0551@file", "app0552@file")
	for _, next := range b.explained("http://app055.example.com/").Next {
		if document.Distance(next.Name[:7], "app055") != 1 {
			t.Errorf("%s is not near", next.Name)
		}
	}
}

func TestExplainFollowsRedirectionsAndRewrites(t *testing.T) {
	b := newBench(t)
	b.middleware("https@file", &dynamic.Middleware{RedirectScheme: &dynamic.RedirectScheme{
		Scheme: "https", Port: "8443", Permanent: true,
	}})
	b.middleware("strip@file", &dynamic.Middleware{StripPrefix: &dynamic.StripPrefix{Prefixes: []string{"/api"}}})
	b.middleware("add@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/v1"}})
	b.middleware("replace@file", &dynamic.Middleware{ReplacePathRegex: &dynamic.ReplacePathRegex{
		Regex: "^/old/(.*)", Replacement: "/new/$1",
	}})
	b.router("secure@file", "Host(`secure.test`)", "a@internal", "https")
	b.router("rewritten@file", "Host(`rewritten.test`)", "a@internal", "strip", "add")
	b.router("replaced@file", "Host(`replaced.test`)", "a@internal", "replace")
	b.all()
	tests := []struct {
		url, location, path string
		status              int
	}{
		{"http://secure.test/a?b=c", "https://secure.test:8443/a?b=c", "", http.StatusMovedPermanently},
		{"http://rewritten.test/api/users", "", "/v1/users", 0},
		{"http://replaced.test/old/1", "", "/new/1", 0},
		{"http://replaced.test/other", "", "", 0},
	}
	for _, test := range tests {
		answer := b.explained(test.url)
		if answer.Status != test.status || answer.Location != test.location || answer.ForwardedPath != test.path ||
			(answer.Service == nil) != (test.location != "") {
			t.Errorf("%s: status %d, location %q, path %q, service %+v", test.url, answer.Status, answer.Location,
				answer.ForwardedPath, answer.Service)
		}
	}
}

func TestExplainAppliesTheEnvironmentMiddleware(t *testing.T) {
	b := newBench(t)
	for name, untrusted := range map[string]string{"env@file": "remove", "strict@file": "forbid"} {
		options := new(dynamic.EnvironmentMiddleware)
		options.SetDefaults()
		options.Untrusted = untrusted
		options.Sources = &dynamic.EnvironmentSources{Query: "env", Path: "/env/{tag}"}
		options.Trust = &dynamic.EnvironmentTrust{SourceRange: []string{"192.0.2.0/24"}}
		b.middleware(name, &dynamic.Middleware{Environment: options})
	}
	shop := new(dynamic.Environment)
	shop.SetDefaults()
	shop.Default = "prod"
	shop.Subsets = []dynamic.EnvironmentSubset{{Tag: "prod", Service: "a@internal"}, {Tag: "dev", Service: "a@internal"}}
	b.service("shop@file", &dynamic.Service{Environment: shop})
	b.router("shop@file", "Host(`shop.test`)", "shop@file", "env")
	b.router("strict@file", "Host(`strict.test`)", "shop@file", "strict")
	b.all()
	for _, test := range []struct {
		url, client, header  string
		status               int
		tag, reason, forward string
	}{
		{url: "http://shop.test/", client: "192.0.2.1", reason: "default"},
		{url: "http://shop.test/", client: "192.0.2.1", header: "dev.one", tag: "dev.one", reason: "ancestor"},
		{url: "http://shop.test/?env=dev", client: "192.0.2.1", tag: "dev", reason: "exact"},
		{url: "http://shop.test/env/dev/a", client: "192.0.2.1", tag: "dev", reason: "exact", forward: "/a"},
		{url: "http://shop.test/env/dev/a", client: "198.51.100.1", reason: "default", forward: "/a"},
		{url: "http://shop.test/", client: "198.51.100.1", header: "dev", reason: "default"},
		{url: "http://strict.test/", client: "198.51.100.1", header: "dev", status: http.StatusForbidden},
	} {
		question := Question{Method: http.MethodGet, URL: test.url, Client: test.client, Header: http.Header{}}
		if test.header != "" {
			question.Header.Set("X-Virtual-Env", test.header)
		}
		answer, err := b.target.Table().Explain(question)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Status != test.status || answer.ForwardedPath != test.forward {
			t.Errorf("%+v: status %d, %s, path %q", test, answer.Status, answer.Reason, answer.ForwardedPath)
		}
		var choice EnvironmentChoice
		if len(answer.Environments) > 0 {
			choice = answer.Environments[0]
		}
		if choice.Tag != test.tag || string(choice.Reason) != test.reason {
			t.Errorf("%+v: the choice is %+v", test, choice)
		}
	}
}

func TestExplainSaysWhyAnEntrypointIsGuessed(t *testing.T) {
	b := newBench(t)
	b.router("a@file", "Host(`a.test`)", "a@internal")
	b.all()
	for url, want := range map[string]string{
		"a.test/":            "the URL has no scheme and is taken as http://; it listens on port 80",
		"http://a.test/":     "it listens on port 80",
		"http://a.test:999/": "no entrypoint listens on port 999; it has routers for requests without TLS",
	} {
		if got := b.explained(url).Guess; got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	named, err := b.target.Table().Explain(Question{Method: http.MethodGet, URL: "a.test", EntryPoint: "websecure"})
	if err != nil || named.Guess != "" {
		t.Errorf("a named entrypoint is guessed: %q, %v", named.Guess, err)
	}
}
