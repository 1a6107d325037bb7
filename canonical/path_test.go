package canonical

import (
	"bufio"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// pathCase is a received path and its one answer.
type pathCase struct {
	name, path       string
	forward, routing string // both empty when it is refused
	reason           string
}

// ordinaryPaths: paths with little or nothing to do.
func ordinaryPaths() []pathCase {
	return []pathCase{
		{name: "nothing to do", path: "/a/b", forward: "/a/b", routing: "/a/b"},
		{name: "empty", path: "", forward: "/", routing: "/"},
		{name: "root", path: "/", forward: "/", routing: "/"},
		{name: "trailing slash", path: "/a/", forward: "/a/", routing: "/a/"},
		{name: "star", path: "*", forward: "*", routing: "*"},
		{name: "no slash", path: "a", reason: "begin with a slash"},
		{name: "dot file", path: "/.well-known/...", forward: "/.well-known/...", routing: "/.well-known/..."},
		{name: "sub-delims", path: "/!$&'()*+,;=:@[]~-._", forward: "/!$&'()*+,;=:@[]~-._", routing: "/!$&'()*+,;=:@[]~-._"},
	}
}

// encodedPaths: percent-encodings and bytes that need one.
func encodedPaths() []pathCase {
	return []pathCase{
		{name: "unreserved decoded", path: "/%61%7E%2D%5f", forward: "/a~-_", routing: "/a~-_"},
		{name: "space", path: "/a%20b", forward: "/a%20b", routing: "/a b"},
		{name: "utf-8", path: "/%c3%A9", forward: "/%C3%A9", routing: "/é"},
		{name: "mixed-case hex", path: "/a%2fb%2Fc", forward: "/a%2Fb%2Fc", routing: "/a%2Fb%2Fc"},
		{name: "backslash", path: "/a%5cb", forward: "/a%5Cb", routing: `/a\b`},
		{name: "null", path: "/a%00b", forward: "/a%00b", routing: "/a\x00b"},
		{name: "semicolon", path: "/a%3bb;c", forward: "/a%3Bb;c", routing: "/a%3Bb;c"},
		{name: "percent", path: "/a%252f", forward: "/a%252f", routing: "/a%252f"},
		{name: "question mark and hash", path: "/%3f%23", forward: "/%3F%23", routing: "/%3F%23"},
		{
			name: "all reserved", path: "/%3a%5b%5d%40%21%24%26%27%28%29%2a%2b%2c%3d",
			forward: "/%3A%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3D", routing: "/%3A%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3D",
		},
		{name: "raw bytes", path: "/é|\"<\\>^`{}", forward: "/%C3%A9%7C%22%3C%5C%3E%5E%60%7B%7D", routing: "/é|\"<\\>^`{}"},
		{name: "raw byte beside an encoded slash", path: "/a%2fb|c", forward: "/a%2Fb%7Cc", routing: "/a%2Fb|c"},
	}
}

// segmentPaths: empty and dot segments.
func segmentPaths() []pathCase {
	return []pathCase{
		{name: "empty segment", path: "/a//b", forward: "/a/b", routing: "/a/b"},
		{name: "leading empty segment", path: "//evil.example/x", forward: "/evil.example/x", routing: "/evil.example/x"},
		{name: "dot", path: "/a/./b", forward: "/a/b", routing: "/a/b"},
		{name: "dot dot", path: "/a/c/../b", forward: "/a/b", routing: "/a/b"},
		{name: "dot dot at the end", path: "/a/b/..", forward: "/a", routing: "/a"},
		{name: "dot dot slash at the end", path: "/a/b/../", forward: "/a/", routing: "/a/"},
		{name: "dot at the end", path: "/a/.", forward: "/a", routing: "/a"},
		{name: "above the root", path: "/../../b", forward: "/b", routing: "/b"},
		{name: "only dot dot", path: "/..", forward: "/", routing: "/"},
		{name: "encoded dot dot", path: "/a/%2e%2E/b", forward: "/b", routing: "/b"},
		{name: "half encoded dot dot", path: "/a/.%2e/b", forward: "/b", routing: "/b"},
		{name: "dot dot before an encoded slash", path: "/a/..%2fb", forward: "/a/..%2Fb", routing: "/a/..%2Fb"},
		{name: "dot dot before a backslash", path: `/a/..\b`, forward: "/a/..%5Cb", routing: `/a/..\b`},
		{name: "dot dot with parameter", path: "/a/..;/b", reason: "parameter"},
		{name: "dot with parameter", path: "/a/.;x=1/b", reason: "parameter"},
		{name: "encoded dot dot with parameter", path: "/a/%2e%2e;/b", reason: "parameter"},
		{name: "only a semicolon", path: "/;/admin", reason: "parameters alone"},
		{name: "only a parameter", path: "/;x=y/admin", reason: "parameters alone"},
		{name: "only a parameter after an empty segment", path: "//;/admin", reason: "parameters alone"},
		{name: "only a parameter before an empty segment", path: "/;//admin", reason: "parameters alone"},
		{name: "only a parameter inside", path: "/n/;/admin", reason: "parameters alone"},
		{name: "only a parameter after a dot segment", path: "/n/../;x/admin", reason: "parameters alone"},
		{name: "only a parameter at the end", path: "/admin/;x", reason: "parameters alone"},
		{name: "parameter elsewhere", path: "/a/..b;/c/...;", forward: "/a/..b;/c/...;", routing: "/a/..b;/c/...;"},
	}
}

// parameterPolicy is the default but for segments of parameters alone, which it accepts.
func parameterPolicy() Policy {
	policy := DefaultPolicy()
	policy.AllowOnlyParameters = true
	return policy
}

// parameterPaths: segments of parameters alone where they are accepted.
func parameterPaths() []pathCase {
	return []pathCase{
		{name: "only a parameter, allowed", path: "/;x/admin", forward: "/;x/admin", routing: "/;x/admin"},
		{name: "only a parameter and empty segments, allowed", path: "//n/;//a", forward: "/n/;/a", routing: "/n/;/a"},
		{name: "dot dot with parameter beside an allowed one", path: "/;x/..;/a", reason: "dot segment"},
	}
}

// refusedPaths: what no request line may hold.
func refusedPaths() []pathCase {
	return []pathCase{
		{name: "raw space", path: "/a b", reason: "control"},
		{name: "raw control byte", path: "/a\r\nb", reason: "control"},
		{name: "raw delete", path: "/a\x7f", reason: "control"},
		{name: "raw fragment", path: "/a#b", reason: "fragment"},
		{name: "lone percent", path: "/a%", reason: "invalid percent-encoding"},
		{name: "short encoding", path: "/a%4", reason: "invalid percent-encoding"},
		{name: "no hex", path: "/a%zz", reason: "invalid percent-encoding"},
	}
}

// unsanitizedPaths: dot segments without Sanitize.
func unsanitizedPaths() []pathCase {
	return []pathCase{
		{name: "unsanitized empty segment", path: "/a//b", forward: "/a//b", routing: "/a//b"},
		{name: "unsanitized dot dot", path: "/a/%2e%2e/b", forward: "/a/../b", routing: "/a/../b"},
		{name: "unsanitized parameter", path: "/a/..;/b", forward: "/a/..;/b", routing: "/a/..;/b"},
	}
}

// forbiddenPaths: encoded characters where none is allowed.
func forbiddenPaths() []pathCase {
	return []pathCase{
		{name: "slash not allowed", path: "/a%2Fb", reason: "not allowed"},
		{name: "lower-case slash not allowed", path: "/a%2fb", reason: "not allowed"},
		{name: "backslash not allowed", path: "/a%5Cb", reason: "not allowed"},
		{name: "raw backslash not allowed", path: `/a\b`, reason: "not allowed"},
		{name: "null not allowed", path: "/a%00b", reason: "not allowed"},
		{name: "semicolon not allowed", path: "/a%3bb", reason: "not allowed"},
		{name: "percent not allowed", path: "/a%25b", reason: "not allowed"},
		{name: "question mark not allowed", path: "/a%3Fb", reason: "not allowed"},
		{name: "hash not allowed", path: "/a%23b", reason: "not allowed"},
		{name: "other encodings stay allowed", path: "/a%20;b%40", forward: "/a%20;b%40", routing: "/a ;b%40"},
	}
}

func TestPolicyApply(t *testing.T) {
	groups := []struct {
		policy Policy
		cases  []pathCase
	}{
		{DefaultPolicy(), ordinaryPaths()},
		{DefaultPolicy(), encodedPaths()},
		{DefaultPolicy(), segmentPaths()},
		{parameterPolicy(), parameterPaths()},
		{DefaultPolicy(), refusedPaths()},
		{Policy{Encoded: AllowAllEncoded()}, unsanitizedPaths()},
		{Policy{Sanitize: true}, forbiddenPaths()},
	}
	for _, group := range groups {
		for _, test := range group.cases {
			t.Run(test.name, func(t *testing.T) {
				target, err := group.policy.Apply(test.path)
				checkReason(t, err, test.reason)
				if want := (Target{test.forward, test.routing}); target != want {
					t.Errorf("Apply(%q) = %q, want %q", test.path, target, want)
				}
				if err == nil {
					checkTarget(t, group.policy, test.path, target)
				}
			})
		}
	}
}

func checkReason(t *testing.T, err error, reason string) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error is %v, want an *Error about %q", err, reason)
	}
	if !strings.Contains(refused.Reason, reason) {
		t.Fatalf("refused because %q, want %q", refused.Reason, reason)
	}
}

func TestEncodedCharactersAreOneByOne(t *testing.T) {
	allow := map[string]EncodedCharacters{
		"/%2F": {AllowSlash: true},
		"/%5C": {AllowBackSlash: true},
		"/%00": {AllowNullCharacter: true},
		"/%3B": {AllowSemicolon: true},
		"/%25": {AllowPercent: true},
		"/%3F": {AllowQuestionMark: true},
		"/%23": {AllowHash: true},
	}
	for path := range allow {
		for owner, encoded := range allow {
			_, err := Policy{Encoded: encoded}.Apply(path)
			if accepted := err == nil; accepted != (path == owner) {
				t.Errorf("%s under %+v: error %v", path, encoded, err)
			}
		}
	}
}

func TestPolicyQuery(t *testing.T) {
	encode := Policy{EncodeQuerySemicolons: true}
	tests := []struct {
		policy      Policy
		query, want string
		reason      string
	}{
		{query: "", want: ""},
		{query: "a=1&b=%2f;c=é", want: "a=1&b=%2f;c=é"},
		{policy: encode, query: "a=1;b=2;", want: "a=1%3Bb=2%3B"},
		{query: "a#b", reason: "fragment"},
		{query: "a b", reason: "control"},
		{query: "a\tb", reason: "control"},
	}
	for _, test := range tests {
		got, err := test.policy.Query(test.query)
		checkReason(t, err, test.reason)
		if got != test.want {
			t.Errorf("Query(%q) = %q, want %q", test.query, got, test.want)
		}
	}
}

// read parses a request as a server does.
func read(t testing.TB, head string) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n\r\n")))
	if err != nil {
		t.Fatalf("reading %q: %v", head, err)
	}
	return r
}

func TestPolicyNormalize(t *testing.T) {
	tests := []struct {
		name, line string
		uri        string // RequestURI afterwards, "" when refused
		host       string
		reason     string
	}{
		{name: "encoded where net/url would leave RawPath empty", line: "GET /%21", uri: "/%21", host: "h"},
		{name: "as received", line: "GET /a?b=%2f&c", uri: "/a?b=%2f&c", host: "h"},
		{name: "bare question mark", line: "GET /a?", uri: "/a?", host: "h"},
		{name: "bare question mark after a change", line: "GET //a?", uri: "/a?", host: "h"},
		{name: "query survives a change", line: "GET /a/../b?x=/../y", uri: "/b?x=/../y", host: "h"},
		{name: "raw byte beside an encoded slash", line: "GET /a%2fb|c", uri: "/a%2Fb%7Cc", host: "h"},
		{name: "scheme-relative", line: "GET //evil.example/x", uri: "/evil.example/x", host: "h"},
		{name: "absolute", line: "GET http://Other.example:81/p?q", uri: "/p?q", host: "Other.example:81"},
		{name: "absolute, upper case", line: "GET HTTPS://other.example/p", uri: "/p", host: "other.example"},
		{name: "absolute, empty path", line: "GET http://other.example", uri: "/", host: "other.example"},
		{name: "absolute, empty path and query", line: "GET http://other.example?q", uri: "/?q", host: "other.example"},
		{name: "absolute, cleaned", line: "GET http://other.example/a/../b", uri: "/b", host: "other.example"},
		{name: "options", line: "OPTIONS *", uri: "*", host: "h"},
		{name: "options, absolute", line: "OPTIONS http://other.example", uri: "*", host: "other.example"},
		{name: "options, absolute with path", line: "OPTIONS http://other.example/", uri: "/", host: "other.example"},
		{name: "star for GET", line: "GET *", reason: "OPTIONS"},
		{name: "userinfo", line: "GET http://u:p@other.example/", reason: "user information"},
		{name: "other scheme", line: "GET ftp://other.example/", reason: "absolute target"},
		{name: "opaque", line: "GET http:foo", reason: "absolute target"},
		{name: "no authority", line: "GET http:///p", reason: "absolute target"},
		{name: "tunnel", line: "CONNECT other.example:443", reason: "tunnels"},
		{name: "tunnel with a path", line: "CONNECT /chat", reason: "tunnels"},
		{name: "fragment", line: "GET /a#b", reason: "fragment"},
		{name: "fragment after the query", line: "GET /a?b#c", reason: "fragment"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := read(t, test.line+" HTTP/1.1\r\nHost: h")
			target, err := DefaultPolicy().Normalize(r)
			checkReason(t, err, test.reason)
			if test.reason != "" {
				return
			}
			if r.RequestURI != test.uri || r.Host != test.host {
				t.Errorf("RequestURI %q, Host %q, want %q, %q", r.RequestURI, r.Host, test.uri, test.host)
			}
			if r.URL.RequestURI() != test.uri || r.URL.Host != "" || r.URL.Scheme != "" {
				t.Errorf("URL %#v says %q, want %q", r.URL, r.URL.RequestURI(), test.uri)
			}
			if got := RoutingPath(r); got != target.Routing {
				t.Errorf("RoutingPath = %q, want %q", got, target.Routing)
			}
		})
	}
}

func TestAbsoluteTargetBeatsHost(t *testing.T) {
	r := read(t, "GET http://other.example/ HTTP/1.1\r\nHost: h")
	r.Host = "h" // as a server that leaves the choice to its handler
	if _, err := DefaultPolicy().Normalize(r); err != nil || r.Host != "other.example" {
		t.Errorf("Host %q, error %v", r.Host, err)
	}
}

// TestTargetsOfHTTP2 reads targets as net/http does, which takes more for a :path than a path.
func TestTargetsOfHTTP2(t *testing.T) {
	for target, reason := range map[string]string{
		"/a": "", "//evil.example/a": "", "*": "", "http://evil.example/a": "no path", "https://h": "no path",
		"http:a": "no path", "ftp://h/": "no path", "http:/a": "no path",
	} {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{
			Method: http.MethodOptions, URL: u, RequestURI: target, Host: "h", ProtoMajor: 2,
			Header: http.Header{},
		}
		_, err = DefaultPolicy().Normalize(r)
		checkReason(t, err, reason)
		if r.Host != "h" {
			t.Errorf("%s: Host %q", target, r.Host)
		}
	}
}

func TestTunnelStatus(t *testing.T) {
	_, err := DefaultPolicy().Normalize(read(t, "CONNECT h:443 HTTP/1.1\r\nHost: h"))
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.Status != http.StatusNotImplemented {
		t.Errorf("error %v, want status 501", err)
	}
}

func TestNothingToDoCostsNoAllocation(t *testing.T) {
	r := read(t, "GET /api/v1/users/42?full=true HTTP/1.1\r\nHost: Example.com")
	policy := DefaultPolicy()
	for _, path := range []string{"/", "/api/v1/users/42", "/.well-known/x", "/a%2Fb%3A"} {
		if allocs := testing.AllocsPerRun(100, func() { _, _ = policy.Apply(path) }); allocs != 0 {
			t.Errorf("Apply(%q) allocates %v times", path, allocs)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = policy.Normalize(r); _ = RoutingPath(r) }); allocs != 0 {
		t.Errorf("Normalize allocates %v times", allocs)
	}
}

// checkTarget asserts what holds for every accepted path.
func checkTarget(t *testing.T, policy Policy, path string, target Target) {
	t.Helper()
	again, err := policy.Apply(target.Escaped)
	if err != nil || again != target {
		t.Fatalf("%q: forwarded %q is read as %q, %v; received was %q", path, target.Escaped, again, err, target)
	}
	if target.Escaped == "*" {
		return
	}
	parsed, err := url.ParseRequestURI(target.Escaped)
	if err != nil {
		t.Fatalf("%q: net/url refuses the forwarded %q: %v", path, target.Escaped, err)
	}
	if parsed.EscapedPath() != target.Escaped || parsed.RawQuery != "" {
		t.Fatalf("%q: net/url forwards %q for %q", path, parsed.EscapedPath(), target.Escaped)
	}
	set := new(url.URL)
	target.Set(set)
	if *set != *parsed {
		t.Fatalf("%q: Set gives %#v, net/url %#v", path, set, parsed)
	}
	if got := RoutingPath(&http.Request{URL: parsed}); got != target.Routing {
		t.Fatalf("%q: routed by %q again, by %q first", path, got, target.Routing)
	}
	if class := inspect(target.Escaped); policy.Sanitize && class != tidy && (class != onlyParameters ||
		!policy.AllowOnlyParameters) {
		t.Fatalf("%q: %q is not clean", path, target.Escaped)
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "/a/b/", "/a//b", "/a/../b", "/%2e%2E/x", "/a%2fb", "/a%5cb", "/a%00", "/..;/x", "/é|%c3%a9", "/a%252e%252e/b",
		"/[x](y)*!'", "*", "//h/p", "/%",
	} {
		f.Add(seed, uint8(0xff))
		f.Add(seed, uint8(0))
	}
	f.Fuzz(func(t *testing.T, path string, options uint8) {
		bit := func(n int) bool { return options>>n&1 != 0 }
		policy := Policy{Sanitize: bit(0), Encoded: EncodedCharacters{
			AllowSlash: bit(1), AllowBackSlash: bit(2), AllowNullCharacter: bit(3), AllowSemicolon: bit(4),
			AllowPercent: bit(5), AllowQuestionMark: bit(6), AllowHash: bit(7),
		}}
		target, err := policy.Apply(path)
		if err != nil {
			return
		}
		checkTarget(t, policy, path, target)

		// What a server parses from the same bytes must be read in the same way, or not at all.
		parsed, err := url.ParseRequestURI(path)
		if err != nil || parsed.RawQuery != "" || parsed.ForceQuery {
			return
		}
		r := &http.Request{Method: http.MethodOptions, URL: parsed, RequestURI: path}
		got, err := policy.Normalize(r)
		if err != nil || got != target || r.URL.EscapedPath() != target.Escaped || r.RequestURI != target.Escaped {
			t.Fatalf("%q: request normalised to %q (%v), URL %#v, RequestURI %q, want %q", path, got, err, r.URL, r.RequestURI,
				target)
		}
	})
}

func BenchmarkApply(b *testing.B) {
	for name, path := range map[string]string{
		"plain":   "/api/v1/users/42/orders",
		"encoded": "/api/v1/users/a%20b",
		"rewrite": "/api/v1/../v2/users/%61",
	} {
		b.Run(name, func(b *testing.B) {
			policy := DefaultPolicy()
			b.ReportAllocs()
			for b.Loop() {
				_, _ = policy.Apply(path)
			}
		})
	}
}

func BenchmarkNormalize(b *testing.B) {
	r := read(b, "GET /api/v1/users/42?full=true HTTP/1.1\r\nHost: example.com")
	policy := DefaultPolicy()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = policy.Normalize(r)
	}
}

func TestCheckEncoded(t *testing.T) {
	for _, test := range []struct {
		allowed EncodedCharacters
		path    string
		ok      bool
	}{
		{EncodedCharacters{}, "/a;b/%20%C3%A9", true},
		{EncodedCharacters{}, "*", true},
		{EncodedCharacters{}, "/a%2Fb", false},
		{EncodedCharacters{}, "/a%2fb", false},
		{EncodedCharacters{AllowSlash: true}, "/a%2Fb", true},
		{EncodedCharacters{AllowSlash: true}, "/a%2Fb%5c", false},
		{EncodedCharacters{AllowSlash: true}, "/a%252Fb", false},
		{AllowAllEncoded(), "/a%2F%5C%00%3B%25%3F%23", true},
		{AllowAllEncoded(), "/a%2", false},
		{AllowAllEncoded(), "/a%zz", false},
	} {
		if err := test.allowed.Check(test.path); (err == nil) != test.ok {
			t.Errorf("%+v: %q gives %v", test.allowed, test.path, err)
		}
	}
}
