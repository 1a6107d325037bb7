package headers

import (
	"crypto/tls"
	"net/http"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestNonceIsNewForEachResponse(t *testing.T) {
	step := build(t, dynamic.Headers{
		ContentSecurityPolicy:           "script-src $NONCE\n 'self' $NONCE;\n",
		ContentSecurityPolicyReportOnly: "style-src $NONCE", ReferrerPolicy: "$NONCE",
	})
	pattern := regexp.MustCompile(`^script-src '(nonce-[A-Za-z0-9+/]{22})' 'self' '(nonce-[A-Za-z0-9+/]{22})';$`)
	seen := map[string]bool{}
	for range 10 {
		answer, _ := ask(t, step, middlewaretest.Request(t, "GET /"), nil)
		found := pattern.FindStringSubmatch(answer.Header.Get("Content-Security-Policy"))
		if found == nil || found[1] != found[2] || answer.Header.Get("Content-Security-Policy-Report-Only") != "style-src '"+
			found[1]+"'" {
			t.Fatalf("headers %q", answer.Header)
		}
		if seen[found[1]] {
			t.Error("the same nonce twice")
		}
		seen[found[1]] = true
		if policy := answer.Header.Get("Referrer-Policy"); policy != "$NONCE" {
			t.Errorf("Referrer-Policy is %q", policy)
		}
	}
}

// TestStrictTransportDependsOnTheConnection has the marks of a TLS-terminating proxy; anything else is ignored.
func TestStrictTransportDependsOnTheConnection(t *testing.T) {
	config := dynamic.Headers{
		STSSeconds: new(int64(1)), SSLProxyHeaders: map[string]string{"x-forwarded-proto": "https", "Front-End-Https": "on"},
		CustomResponseHeaders: map[string]string{"X-A": "1"}, PublicKey: "pin",
	}
	for _, test := range []struct {
		name   string
		header http.Header
		tls    bool
		want   bool
	}{
		{name: "in clear"},
		{name: "encrypted", tls: true, want: true},
		{
			name: "encrypted, a proxy says otherwise", header: http.Header{"X-Forwarded-Proto": {"http"}}, tls: true,
			want: true,
		},
		{name: "decrypted before", header: http.Header{"X-Forwarded-Proto": {"https"}}, want: true},
		{name: "another mark", header: http.Header{"X-Forwarded-Proto": {"http"}, "Front-End-Https": {"on"}}, want: true},
		{name: "another value", header: http.Header{"X-Forwarded-Proto": {"http"}}},
		{name: "another case", header: http.Header{"X-Forwarded-Proto": {"HTTPS"}}},
		{name: "twice", header: http.Header{"X-Forwarded-Proto": {"https", "http"}}},
		{name: "alias", header: http.Header{"X_forwarded_proto": {"https"}}},
	} {
		r := middlewaretest.Request(t, "GET /")
		r.Header = test.header
		if test.tls {
			r.TLS = new(tls.ConnectionState)
		}
		answer, _ := ask(t, build(t, config), r, http.Header{"Strict-Transport-Security": {"max-age=0"}})
		want := http.Header{"Strict-Transport-Security": {"max-age=0"}, "X-A": {"1"}}
		if test.want {
			want = http.Header{"Strict-Transport-Security": {"max-age=1"}, "X-A": {"1"}, "Public-Key-Pins": {"pin"}}
		}
		if diff := cmp.Diff(want, answer.Header); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// TestStrictTransportFollowsTheEdit has a custom request header that marks all connections as TLS.
func TestStrictTransportFollowsTheEdit(t *testing.T) {
	proto := map[string]string{"X-Forwarded-Proto": "https"}
	step := build(t, dynamic.Headers{STSSeconds: new(int64(1)), SSLProxyHeaders: proto, CustomRequestHeaders: proto})
	answer, _ := ask(t, step, middlewaretest.Request(t, "GET /", "X-Forwarded-Proto: http"), nil)
	if got := answer.Header.Get("Strict-Transport-Security"); got != "max-age=1" {
		t.Errorf("Strict-Transport-Security is %q", got)
	}
}

// TestResponsesShareNothing has handlers outside that edit values in place.
func TestResponsesShareNothing(t *testing.T) {
	step := build(t, dynamic.Headers{
		FrameDeny: true, ContentTypeNosniff: true, BrowserXSSFilter: true, ReferrerPolicy: "same-origin",
		PermissionsPolicy:            "camera=()",
		AccessControlAllowOriginList: []string{"https://a.example"}, AddVaryHeader: true,
	})
	var last http.Header
	for range 2 {
		answer, _ := ask(t, step, middlewaretest.Request(t, "GET /", "Origin: https://a.example"), nil)
		if len(answer.Header) != 7 {
			t.Errorf("headers %q", answer.Header)
		}
		if diff := cmp.Diff(last, answer.Header); last != nil && diff != "" {
			t.Error(diff)
		}
		last = answer.Header.Clone()
		for name, values := range answer.Header {
			values[0] = "changed in place"
			answer.Header[name] = append(values, "appended")
		}
	}
}
