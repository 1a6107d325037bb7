package jwt

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func forwarding(t testing.TB) *JWT {
	return build(t, dynamic.JWT{SigningSecret: secret, ForwardHeaders: map[string]string{
		"x-user": "sub", "X-Groups": "groups", "X_Tenant": "tenant.id", "X-Missing": "absent", "X-Null": "nothing",
		"X-Empty": "empty",
	}})
}

func forwardedToken(t testing.TB) string {
	return sign(t, "HS256", []byte(secret), claimsWith(map[string]any{
		"groups": []string{"a", "b"}, "tenant": map[string]any{"id": 7}, "empty": "",
	}), nil)
}

// What a client sends under the name of a header that a claim stands in is gone, in every spelling, whether there is
// such a claim or not.
func TestForgedHeaders(t *testing.T) {
	j, token := forwarding(t), forwardedToken(t)
	want := map[string][]string{"X-User": {"ann"}, "X-Groups": {"a,b"}, "X_tenant": {"7"}}
	names := []string{"X-User", "X-Groups", "X-Tenant", "X-Missing", "X-Null", "X-Empty"}
	for _, name := range names {
		under := strings.ReplaceAll(name, "-", "_")
		for _, spelling := range []string{
			name, strings.ToLower(name), strings.ToUpper(name), under, strings.ToLower(under),
			"x_" + name[2:], "X_" + strings.ToUpper(name[2:]),
		} {
			for _, attempt := range [][]string{
				{spelling + ": forged"},
				{spelling + ": forged", spelling + ": forged"},
				{name + ": forged", spelling + ": forged"},
				{spelling + ": forged", "Connection: " + spelling},
				{"Connection: keep-alive, " + spelling},
				{"Connection: " + spelling + "," + spelling, spelling + ": forged"},
				{"Connection: " + strings.ToLower(name), "Connection: close"},
			} {
				for range 2 { // Verified, and cached.
					check(t, j, fmt.Sprintf("%q", attempt), want, append(slices.Clone(attempt), "Authorization: Bearer "+token))
				}
			}
		}
	}
}

func check(t *testing.T, j *JWT, attempt string, want map[string][]string, lines []string) {
	t.Helper()
	r := middlewaretest.Request(t, "GET /", lines...)
	if _, got := serve(j, r); got == nil {
		t.Fatalf("%s: does not pass", attempt)
	}
	// What forwarding does next: Connection takes nothing away that was set here.
	forwarded.RemoveHopByHop(r.Header, nil)
	r.Header.Del("Authorization")
	if diff := cmp.Diff(http.Header(want), r.Header); diff != "" {
		t.Errorf("%s: %s", attempt, diff)
	}
}

// Trailers that servers merge into headers are no way either, announced or not.
func TestForgedTrailers(t *testing.T) {
	token := forwardedToken(t)
	trailers := make(chan http.Header, 1)
	server := httptest.NewServer(forwarding(t).Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		trailers <- r.Trailer.Clone()
	})))
	defer server.Close()
	for _, announced := range []string{"X-User", "x_user", "X-MISSING", "Authorization", ""} {
		body := io.NopCloser(strings.NewReader("body"))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Trailer = http.Header{"X-Other": {"kept"}}
		if announced != "" {
			r.Trailer[http.CanonicalHeaderKey(announced)] = []string{"forged"}
		}
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if diff := cmp.Diff(http.Header{"X-Other": {"kept"}}, <-trailers); diff != "" {
			t.Errorf("%s: %s", announced, diff)
		}
	}
}

// An unverified token is not forwarded along with a verified one: the service would trust it.
func TestForgedTokens(t *testing.T) {
	good := sign(t, "HS256", []byte(secret), claimsWith(nil), nil)
	everywhere := dynamic.JWT{SigningSecret: secret, TokenHeader: "X-Token", TokenCookie: "token", TokenQueryKey: "jwt"}
	authorization := everywhere
	authorization.TokenHeader = "Authorization"
	for _, test := range []struct {
		config       dynamic.JWT
		target       string
		headers      []string
		left         string // Of the target.
		wantedHeader http.Header
	}{
		{
			everywhere, "/",
			[]string{"X-Token: GOOD", "X_Token: BAD", "x_token: BAD", "X-Tokens: a"},
			"/",
			http.Header{"X-Token": {good}, "X-Tokens": {"a"}},
		},
		{everywhere, "/", []string{"X_Token: BAD", "Cookie: token=GOOD"}, "/", http.Header{"Cookie": {"token=" + good}}},
		{everywhere, "/", []string{"X-Token: GOOD", "Cookie: a=b; token=BAD"}, "/", http.Header{
			"X-Token": {good},
			"Cookie":  {"a=b"},
		}},
		{everywhere, "/", []string{"X-Token: GOOD", "Cookie: token=GOOD; token=BAD"}, "/", http.Header{"X-Token": {good}}},
		{
			everywhere, "/",
			[]string{"X-Token: GOOD", "Cookie: token=BAD", "Cookie: token=GOOD"},
			"/",
			http.Header{"X-Token": {good}},
		},
		{everywhere, "/?a&jwt=BAD", []string{"X-Token: GOOD"}, "/?a", http.Header{"X-Token": {good}}},
		{everywhere, "/?j%77t=BAD&a&jwt=GOOD", []string{"X-Token: GOOD"}, "/?a", http.Header{"X-Token": {good}}},
		{everywhere, "/?jwt=BAD", []string{"Cookie: token=GOOD"}, "/", http.Header{"Cookie": {"token=" + good}}},
		{
			authorization, "/?jwt=BAD",
			[]string{"Authorization: Bearer GOOD", "Cookie: token=BAD"},
			"/",
			http.Header{"Authorization": {"Bearer " + good}},
		},
		{
			authorization, "/",
			[]string{"Authorization: Basic x", "Cookie: token=GOOD"},
			"/",
			http.Header{"Authorization": {"Basic x"}, "Cookie": {"token=" + good}},
		},
	} {
		tokens := strings.NewReplacer("GOOD", good, "BAD", "e30.e30.forged")
		var head []string
		for _, line := range test.headers {
			head = append(head, tokens.Replace(line))
		}
		r := middlewaretest.Request(t, "GET "+tokens.Replace(test.target), head...)
		answer, got := serve(build(t, test.config), r)
		if got == nil {
			t.Errorf("%s %q: answers %d", test.target, test.headers, answer.Code)
			continue
		}
		if diff := cmp.Diff(test.wantedHeader, got.Header); diff != "" || got.RequestURI != test.left ||
			got.URL.RequestURI() != test.left {
			t.Errorf("%s %q: the target is %q and %q: %s", test.target, test.headers, got.RequestURI, got.URL.RequestURI(), diff)
		}
	}
}

// What the service does with the headers of one request is not seen by the next.
func TestHeadersAreItsOwn(t *testing.T) {
	j, token := forwarding(t), forwardedToken(t)
	for range 3 {
		_, got := serve(j, request(t, token))
		if got.Header.Get("X-User") != "ann" || len(got.Header["X-Groups"]) != 1 || got.Header["X-Groups"][0] != "a,b" {
			t.Fatalf("the service gets %v", got.Header)
		}
		got.Header["X-User"][0] = "spoilt"
		got.Header["X-User"] = append(got.Header["X-User"], "spoilt")
		got.Header["X-Groups"][0] += "spoilt"
	}
}

// Refused requests do not reach the service.
func TestNothingIsSetWhereItEnds(t *testing.T) {
	j := forwarding(t)
	r := request(t, "x")
	if _, got := serve(j, r); got != nil || r.Header.Get("X-User") != "" {
		t.Errorf("passes %v, with %v", got != nil, r.Header)
	}
}
