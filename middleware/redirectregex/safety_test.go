package redirectregex

import (
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

const refused = "400"

type redirection struct{ regex, replacement, url, want string }

// TestTheHostIsNotInjected goes through what links can hold to lead to another host.
func TestTheHostIsNotInjected(t *testing.T) {
	prove(t, []redirection{
		// A host that the path goes on with.
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/old/a", "302 https://example.com/a"},
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/old?a", "302 https://example.com?a"},
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/old", "302 https://example.com"},
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/old.evil.example/", refused},
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/oldevil", refused},
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/old@evil.example/", refused},
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/old:1@evil.example/", refused},
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/old:8080/", refused},
		{`^http://h(/old)(.*)`, "https://example.com$2", `http://h/old\.evil.example/`, refused},
		{`^http://h(/old)(.*)`, "https://example.com$2", "http://h/old%2eevil.example/", refused},
		{`^http://h(/old)(.*)`, "https://example.com:8443$2", "http://h/old1/", refused},
		{`^http://h(/old)(.*)`, "https://example.com:$2", "http://h/old1/", refused},
		{`^http://h/(.*)`, "https://example.com$1", "http://h/evil", refused},
		{`^http://www.foo.com/(.*)?`, "https://www.bar.com${1}", "http://www.foo.com/.evil.example/", refused},
		{`^http://www.foo.com/(.*)?`, "https://www.bar.com${1}", "http://www.foo.com/", "302 https://www.bar.com"},
		{`/old`, "", "http://h/old.evil.example/", refused},
		{`/[?].*to=(.*)`, "$1", "http://h/?to=.evil.example", refused},
		// A host whose beginning is in the path.
		{`^http://h/t/([^/]+)/(.*)`, "https://${1}.example.com/$2", "http://h/t/acme/a", "302 https://acme.example.com/a"},
		{`^http://h/t/([^/]+)/(.*)`, "https://${1}.example.com/$2", "http://h/t/a.b/c", "302 https://a.b.example.com/c"},
		{`^http://h/t/([^/]+)/(.*)`, "https://${1}.example.com/$2", "http://h/t/evil.example?/", refused},
		{`^http://h/t/([^/]+)/(.*)`, "https://${1}.example.com/$2", "http://h/t/evil%2Fx/", refused},
		{`^http://h/t/([^/]+)/(.*)`, "https://${1}.example.com/$2", "http://h/t/evil%23/", refused},
		{`^http://h/t/([^/]+)/(.*)`, "https://${1}.example.com/$2", `http://h/t/evil\/`, refused},
		{`^http://h/t/([^/]+)/(.*)`, "https://${1}.example.com/$2", "http://h/t/evil:80/", refused},
		{`^http://h/t(.*)`, "https://${1}.example.com/", "http://h/t", "302 https://.example.com/"},
		{`^http://h/t(.*)`, "https://${1}.example.com/", "http://h/t/", refused},
		{`^http://h/t/(.*)`, "https://${1}.example.com/", "http://h/t/evil.example/", refused},
		{`^http://h/t/(.)(.*)`, "https://${1}${2}.example.com/", "http://h/t/evil.example/", refused},
		{`^http://h/t(.*)`, "https://www${1}.example.com/", "http://h/tx", "302 https://wwwx.example.com/"},
		{`^http://h/t(.*)`, "https://www${1}.example.com/", "http://h/t/", refused},
		{`^http://h/t(.*)`, "https://www${1}:8443/", "http://h/t?", refused},
		{`^http://h(.*)`, "https://example.com${1}?from=h", "http://h/t", "302 https://example.com/t?from=h"},
		{`^http://h(.*)`, "https://example.com${1}&from=h", "http://h/t?a", "302 https://example.com/t?a&from=h"},
		{`(/old)`, "${1}er", "http://h/old/x", "302 http://h/older/x"},
		{`old`, "new", "http://h/old/x", "302 http://h/new/x"},
		{`example\.org`, "example.com", "http://example.org/?ref=example.org", "302 http://example.com/?ref=example.com"},
		{`org/`, "com", "http://example.org/.evil.example", refused},
		// A host that is in the path.
		{`^http://h/to/(a|b)\.org/(.*)`, "https://$1.org/$2", "http://h/to/b.org/c", "302 https://b.org/c"},
		{`^http://h/to/([^/]+)/(.*)`, "https://$1/$2", "http://h/to/b.org/c", "302 https://b.org/c"},
		{`^http://h/to/([^/]+)/(.*)`, "https://$1/$2", "http://h/to/a@b.org/c", refused},
		{`^http://h/to/(.*)`, "https://$1", "http://h/to/b.org/c", refused},
		{`^http://h/to/(.*)`, "https://$1", "http://h/to/", refused},
		{`^http://h/to/(.*)`, "https:/$1", "http://h/to/b.org", refused},
		{`^http://h/to/(.*)`, "https:$1", "http://h/to/b.org", refused},
		{`^http://h/to(.*)`, "https:$1", "http://h/to/b.org", refused},
		{`^http://h/to(.*)`, "https:/$1", "http://h/to/b.org", refused},
		{`^http://h/to(.*)`, "https://$1", "http://h/to/b.org", refused},
	})
}

// TestManyMatchesAreRefused has a client send what an expression matches as often as a head allows.
func TestManyMatchesAreRefused(t *testing.T) {
	step := build(t, "a", "b")
	for count, want := range map[int]string{1000: "302 http://x.test/" + strings.Repeat("b", 1000), 1 << 20: "400"} {
		r := at(t, "http://x.test/"+strings.Repeat("a", count))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := serve(t, step, r)
		runtime.ReadMemStats(&after)
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; got != want || taken > 32 {
			t.Errorf("%d: %.60s, %d MiB", count, got, taken)
		}
	}
}

// TestPathsAreNoHosts goes through what links can hold to make a path a host to browsers, and what is no URL.
func TestPathsAreNoHosts(t *testing.T) {
	prove(t, []redirection{
		{`^http://h/old(.*)`, "/$1", "http://h/old/evil.example", refused},
		{`^http://h/old/(.*)`, "/$1", "http://h/old//evil.example", "302 /evil.example"},
		{`^http://h/old/(.*)`, "/$1", `http://h/old/\evil.example`, "302 /%5Cevil.example"},
		{`^http://h/old/(.*)`, "/$1", "http://h/old/%2fevil.example", "302 /%2Fevil.example"},
		{`^http://h/old/(.*)`, "/$1", "http://h/old/%09/evil.example", "302 /%09/evil.example"},
		{`^http://h/([^/]*)/(.*)`, "/$1/$2", "http://h/old/evil.example", "302 /old/evil.example"},
		{`^http://h/x?(.*)/(.*)`, "/$1/$2", "http://h/x/evil.example", refused},
		{`^http://h/[?](.*)`, "/$1", `http://h/?\evil.example`, "302 /%5Cevil.example"},
		{`^http://h/[?](.*)`, "/$1", "http://h/?/evil.example", refused},
		{`^http://h/[?](.*)`, `\\$1`, "http://h/?evil.example", "302 %5C%5Cevil.example"},
		{`^http://h/[?](.*)`, "$1", "http://h/?//evil.example", refused},
		{`^http://h/[?](.*)`, "$1", "http://h/?https://evil.example", refused},
		{`^http://h/[?](.*)`, "$1", "http://h/?javascript:alert(1)", refused},
		{`^http://h/[?](.*)`, "java$1", "http://h/?script:alert(1)", refused},
		{`^http://h/[?](.*)`, "$1", "http://h/?", refused},
		// What is no URL.
		{`^(.*)$`, "http://192.168.0.%31/", "http://h/", refused},
		{`^(.*)$`, "https:///x", "http://h/", refused},
		{`^(.*)$`, "https://", "http://h/", refused},
		{`^(.*)$`, "https://a b/", "http://h/", refused},
		{`^(.*)$`, "https://h:99999/", "http://h/", refused},
		{`^(.*)$`, "https://[::1/", "http://h/", refused},
		{`^(.*)$`, "//", "http://h/", refused},
		{`^(.*)$`, "/%zz", "http://h/", refused},
		{`^(.*)$`, "", "http://h/", refused},
		{`.`, strings.Repeat("$0", 2000), "http://h/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", refused},
		// What a header can't carry.
		{`^http://h/(.*)`, "/x/$1", "http://h/%0d%0aSet-Cookie:a=b", "302 /x/%0D%0ASet-Cookie:a=b"},
		{`^http://h/(.*)`, "/x/$1", "http://h/?é\"<>\\", "302 /x/?%C3%A9%22%3C%3E%5C"},
		{`^http://h/(.*)`, "/x y/é$1", "http://h/é", "302 /x%20y/%C3%A9%C3%A9"},
		{`^http://h/%(..)(.*)`, "/x$2", "http://h/%0d%0aa", "302 /x%0Aa"},
	})
}

func prove(t *testing.T, tests []redirection) {
	t.Helper()
	for _, test := range tests {
		if got := serve(t, build(t, test.regex, test.replacement), at(t, test.url)); got != test.want {
			t.Errorf("%q to %.40q: %s gives %q, want %q", test.regex, test.replacement, test.url, got, test.want)
		}
	}
}

// FuzzExpand asserts that a replacement means what Go's own package makes of it.
func FuzzExpand(f *testing.F) {
	f.Add("(?P<a>.)(b)?", "${a}$2x$$${2}$a1$01$", "http://abc/")
	f.Add("x*", "$0-${0", "axb")
	f.Add("(.)", "$1${é}${1é}$_", "é")
	f.Fuzz(func(t *testing.T, regex, replacement, text string) {
		compiled, err := regexp.Compile(regex)
		if err != nil || len(replacement) > 100 || len(text) > 100 {
			return
		}
		parsed := parse(replacement, compiled.SubexpNames())
		to := parsed.replace(&source{url: []byte(text)}, compiled.FindAllSubmatchIndex([]byte(text), -1))
		if want := compiled.ReplaceAllString(text, replacement); string(to.url) != want || len(to.from) != len(want) {
			t.Fatalf("%q to %q on %q: %q, want %q", regex, replacement, text, to.url, want)
		}
	})
}

// redirect returns the Location that a request for the target gets, and whether it is redirected. It fails the test
// where something else happens than that the request passes, is redirected or is answered with 400.
func redirect(t *testing.T, step *RedirectRegex, target string) (location string, ok bool) {
	t.Helper()
	r := &http.Request{Method: http.MethodGet, Host: "h", Header: http.Header{}, RequestURI: target}
	var err error
	if r.URL, err = url.ParseRequestURI(target); err != nil {
		return "", false
	}
	if _, err := canonical.DefaultPolicy().Normalize(r); err != nil || r.Host != "h" {
		return "", false
	}
	from := new(source)
	if from.read(r); step.differs(r) && step.regex.Regexp.Match(from.url) {
		t.Fatalf("%s matches %q, but %q is not enough", step.regex, from.url, step.word)
	}
	got := serve(t, step, r)
	location, ok = strings.CutPrefix(got, "302 ")
	if !ok && got != "next" && got != "400" {
		t.Fatalf("%q gives %q", target, got)
	}
	return location, ok
}

// FuzzRedirectRegex asserts that whatever is redirected gets a Location that is one line of ASCII, without a
// backslash, and a URL.
func FuzzRedirectRegex(f *testing.F) {
	f.Add("^http://h/old(.*)", "https://example.com$1", "/old.evil.example/")
	f.Add("^http://h/(.*)", "/$1", "/%0d%0a/evil?\\x")
	f.Add("(.*)", "https://${1}.example.com/$1", "//evil/")
	f.Fuzz(func(t *testing.T, regex, replacement, target string) {
		step, err := New("r@file", dynamic.RedirectRegex{Regex: regex, Replacement: replacement})
		if err != nil || len(target) > 1000 {
			return
		}
		location, ok := redirect(t, step, target)
		if !ok {
			return
		}
		if strings.ContainsFunc(location, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '\\' }) {
			t.Fatalf("%q to %q on %q: Location %q", regex, replacement, target, location)
		}
		if _, err := url.Parse(location); err != nil {
			t.Fatalf("%q to %q on %q: Location %q: %v", regex, replacement, target, location, err)
		}
	})
}

// FuzzOpenRedirect asserts that no link to h leads to another host than h and example.com.
func FuzzOpenRedirect(f *testing.F) {
	f.Add("/old.evil.example/?/evil.example")
	f.Add(`/old/\evil.example?\evil.example`)
	f.Add("/old@evil.example?https://evil.example")
	f.Add("/t/evil.example/?javascript:x")
	definitions := [][2]string{
		{`^http://h/old(.*)`, "https://example.com$1"},
		{`^http://h/(.*)`, "https://example.com$1"},
		{`^http://h/t/?(.*)`, "https://${1}.example.com/$1"},
		{`^http://h/t/([^/]*)(.*)`, "https://www-${1}${2}.example.com"},
		{`^http://h/(.*)`, "/$1"},
		{`^http://h/(.?)(.*)`, "$1/$2"},
		{`^http://h/[^?]*[?](.*)`, "$1"},
		{`^http://h/[^?]*[?](.*)`, "https:/$1"},
		{`^http://h/(.*)`, "https:$1"},
		{`/[^?]*[?](.*)`, "$1"},
		{`/t/?`, ""},
	}
	f.Fuzz(func(t *testing.T, target string) {
		base := &url.URL{Scheme: "http", Host: "h", Path: "/"}
		for _, definition := range definitions {
			location, ok := redirect(t, build(t, definition[0], definition[1]), target)
			if !ok {
				continue
			}
			to, err := base.Parse(location)
			if err != nil {
				t.Fatalf("%q: Location %q: %v", target, location, err)
			}
			host := to.Hostname()
			if to.User != nil || host != "h" && host != "example.com" && !strings.HasSuffix(host, ".example.com") ||
				to.Scheme != "http" && to.Scheme != "https" {
				t.Fatalf("%q on %q: Location %q", definition, target, location)
			}
		}
	})
}
