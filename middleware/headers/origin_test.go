package headers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestOrigins(t *testing.T) {
	list := func(items ...string) dynamic.Headers { return dynamic.Headers{AccessControlAllowOriginList: items} }
	regex := func(items ...string) dynamic.Headers {
		return dynamic.Headers{AccessControlAllowOriginListRegex: items}
	}
	for _, test := range []struct {
		config dynamic.Headers
		yes    []string
		no     []string
	}{
		{
			list("https://a.example", "HTTP://B.example:8080", "capacitor://localhost", "file://", "http://[::1]:3000"),
			[]string{
				"https://a.example", "https://A.Example", "http://b.example:8080", "capacitor://localhost", "file://",
				"http://[::1]:3000",
			},
			[]string{
				"http://a.example", "https://a.example:443", "https://a.example.", "https://a.example/",
				"https://a.example.evil.org", "https://ua.example", "a.example", "null", "", "https://a.exampl\u212a",
				"http://b.example",
			},
		},
		{list("null", "", "*.a.example", "https://*.a.example"), nil, []string{
			"null", "", "https://x.a.example",
			"https://a.example", "*.a.example",
		}},

		// Without anchors, as they are written.
		{
			regex(`example\.com`),
			[]string{"https://example.com", "http://example.com:8080", "https://www.example.com", "https://a.b.example.com:1"},
			[]string{
				"https://example.com.evil.org", "https://evilexample.com", "https://evil-example.com",
				"https://example.community", "https://evil.org:80example.com", "null", "example.com",
				"https://evil.org/example.com", "https://evil.org#.example.com", "https://evil.org@example.com",
			},
		},
		{
			regex(`https://example\.com`),
			[]string{"https://example.com", "https://example.com:8443"},
			[]string{"http://example.com", "https://www.example.com", "https://example.com.evil.org", "xhttps://example.com"},
		},
		{
			regex(`\.example\.com`),
			[]string{"https://www.example.com", "https://a.b.example.com:8443"},
			[]string{"https://example.com", "https://wwwexample.com", "https://www.example.com.evil.org"},
		},
		{
			regex(`(\.a|\.b)\.example\.com$`),
			[]string{"https://x.a.example.com", "https://x.b.example.com"},
			[]string{"https://a.example.com", "https://xa.example.com", "https://x.a.example.com:8443"},
		},
		{
			regex(`.*\.example\.com`),
			[]string{"https://www.example.com", "https://www.example.com:8443"},
			[]string{"https://example.com", "https://www.example.com.evil.org"},
		},
		{regex(`([a-z]+)\.bar`), []string{"https://foo.bar"}, []string{"https://foo.bar.org"}},
		{regex(`https://pr-[0-9]+\.`), nil, []string{"https://pr-1.evil.org"}},
		{
			regex(`://example\.com`),
			[]string{"https://example.com", "http://example.com:1"},
			[]string{"https://www.example.com", "https://example.com.evil.org"},
		},
		{regex(`:3000$`), nil, []string{"https://evil.org:3000"}},
		{regex(`localhost`), []string{"http://localhost", "http://localhost:3000"}, []string{
			"https://localhost.evil.org",
			"https://evillocalhost",
		}},

		// With them.
		{
			regex(`^https?://([a-z]+)\.bar\.org$`),
			[]string{"https://foo.bar.org", "http://foo.bar.org"},
			[]string{"https://foo.bar.org:8443", "https://foo.bar.org.evil.org", "https://bar.org"},
		},
		{regex(`^example\.com$`), nil, []string{"https://example.com", "example.com"}},
		{
			regex(`^https://a\.example$|^https://b\.example$`),
			[]string{"https://a.example", "https://b.example"},
			[]string{"https://a.example.evil.org", "https://c.example"},
		},
		{
			regex(`(?i)^https://A\.example`),
			[]string{"https://a.example", "https://A.EXAMPLE:1"},
			[]string{"https://b.example"},
		},
		{regex(`\Qhttps://a.example`), []string{"https://a.example"}, []string{"https://aXexample"}},
		{regex(`.*`), []string{"https://a.example"}, []string{
			"null", "", "a b", "https://a.example/x",
			"https://u@a.example",
		}},
		{regex(`nothing`, `https://a\.example`), []string{"https://a.example"}, []string{"https://b.example"}},
	} {
		o, _, err := newOrigins(test.config)
		if err != nil {
			t.Fatal(err)
		}
		for _, credentials := range []bool{false, true} {
			for _, origin := range test.yes {
				if value, ok := o.allow(origin, credentials); !ok || value != origin {
					t.Errorf("%+v: %q is not allowed: %q, %v", test.config, origin, value, ok)
				}
			}
			for _, origin := range test.no {
				if value, ok := o.allow(origin, credentials); ok || value != "" {
					t.Errorf("%+v: %q is allowed: %q, %v", test.config, origin, value, ok)
				}
			}
		}
	}
}

func TestTwoOriginsAreNone(t *testing.T) {
	step := build(t, dynamic.Headers{AccessControlAllowOriginList: []string{"https://a.example"}})
	for _, lines := range [][]string{
		{"Origin: https://a.example", "Origin: https://evil.example"},
		{"Origin: https://evil.example", "Origin: https://a.example"},
		{"Origin: https://a.example", "oRIGIN: https://a.example"},
		{"Origin: https://a.example https://evil.example"},
		{"Origin: https://a.example, https://evil.example"},
	} {
		for _, line := range []string{"GET /", "OPTIONS /"} {
			answer, _ := ask(t, step, middlewaretest.Request(t, line, append(lines, "Access-Control-Request-Method: PUT")...),
				nil)
			if value := answer.Header[allowOrigin]; value != nil {
				t.Errorf("%s %q: allows %q", line, lines, value)
			}
		}
	}
}

// FuzzOrigin has expressions and origins of any form. Whatever is repeated was sent, is an origin, and belongs to a
// host that the definition reaches to the end.
func FuzzOrigin(f *testing.F) {
	for _, origin := range []string{
		"https://a.example", "https://a.example.evil.org", "null", "https://evil-a.example:80",
		"", "https://u@a.example", "file://", "https://[::1]:3",
	} {
		for _, expression := range []string{
			`a\.example`, `^https://a\.example$`, `.*`, `a|b`, `\Qa`, `(?i)A\.EXAMPLE`,
			`\.example`, ``,
		} {
			f.Add(origin, expression, "PUT", "x-a, x-b", true)
		}
	}
	f.Fuzz(func(t *testing.T, origin, expression, method, asked string, credentials bool) {
		step, err := New("h@file", dynamic.Headers{
			AccessControlAllowCredentials: credentials, AccessControlAllowOriginList: []string{"https://listed.example"},
			AccessControlAllowOriginListRegex: []string{expression}, AccessControlAllowMethods: []string{"*"},
			AccessControlAllowHeaders: []string{"*"},
		})
		if err != nil {
			return
		}
		for _, verb := range []string{http.MethodGet, http.MethodOptions} {
			r := middlewaretest.Request(t, verb+" /")
			r.Header["Origin"], r.Header[requestMethod], r.Header[requestHeaders] = []string{origin}, []string{method},
				[]string{asked}
			answer, served := ask(t, step, r, nil)
			if preflight := verb == http.MethodOptions && origin != "" && method != ""; served == preflight {
				t.Fatalf("%s %q %q: the service got the request: %v", verb, origin, method, served)
			}
			value := answer.Header.Get(allowOrigin)
			if value == "" {
				if answer.Header.Get(allowCredentials) != "" && served {
					t.Fatalf("%q is allowed credentials and nothing else", origin)
				}
				continue
			}
			if value != origin || !isOrigin(origin) || strings.ContainsAny(origin, " ,@?#") || origin == "null" {
				t.Fatalf("%q is repeated as %q", origin, value)
			}
			// A longer host is another one, unless the expression allows it.
			if strings.ContainsAny(expression, "*+?.[{$|\\(") || strings.HasSuffix(origin, ":") {
				continue
			}
			if longer, _ := ask(t, step, originRequest(t, origin+".evil.org"), nil); longer.Header.Get(allowOrigin) != "" {
				t.Fatalf("%q allows %q with evil.org behind it", expression, origin)
			}
		}
		for _, value := range []string{allowMethods, allowHeaders} {
			r := originRequest(t, origin)
			r.Method = http.MethodOptions
			r.Header[requestMethod], r.Header[requestHeaders] = []string{method}, []string{asked}
			if answer, _ := ask(t, step, r, nil); !isValue(answer.Header.Get(value)) {
				t.Fatalf("%s is %q", value, answer.Header.Get(value))
			}
		}
	})
}

func originRequest(t *testing.T, origin string) *http.Request {
	r := middlewaretest.Request(t, "GET /")
	r.Header["Origin"] = []string{origin}
	return r
}
