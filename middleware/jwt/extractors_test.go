package jwt

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// Where a token is found, and what the service gets of it. GOOD and BAD stand for tokens.
func TestPlaces(t *testing.T) {
	everywhere := dynamic.JWT{TokenHeader: "Authorization", TokenCookie: "token", TokenQueryKey: "access_token"}
	own := dynamic.JWT{TokenHeader: "x-token"}
	for name, test := range map[string]struct {
		config  dynamic.JWT
		target  string
		headers []string
		status  int // 204 is that of the service.
		// What the service gets when tokens are removed.
		toTarget  string
		toHeaders http.Header
	}{
		"Authorization": {dynamic.JWT{}, "/", []string{"Authorization: Bearer GOOD"}, 204, "/", nil},
		"any case":      {dynamic.JWT{}, "/", []string{"authorization: bEARER GOOD"}, 204, "/", nil},
		"spaces":        {dynamic.JWT{}, "/", []string{"authorization: Bearer    GOOD  "}, 204, "/", nil},
		"no space":      {dynamic.JWT{}, "/", []string{"authorization: BearerGOOD"}, 401, "", nil},
		"tab":           {dynamic.JWT{}, "/", []string{"authorization: Bearer\tGOOD"}, 401, "", nil},
		"tab, and a cookie": {
			everywhere, "/",
			[]string{"authorization: Bearer\tBAD", "Cookie: token=GOOD"},
			401, "",
			nil,
		},
		"comma, and a cookie": {
			everywhere, "/",
			[]string{"authorization: bearer,BAD", "Cookie: token=GOOD"},
			401, "",
			nil,
		},
		"hard space, and a cookie": {
			everywhere, "/",
			[]string{"authorization: Bearer\xa0BAD", "Cookie: token=GOOD"},
			401, "",
			nil,
		},
		"only the scheme": {dynamic.JWT{}, "/", []string{"authorization: Bearer"}, 401, "", nil},
		"no scheme":       {dynamic.JWT{}, "/", []string{"authorization: GOOD"}, 401, "", nil},
		"Basic":           {dynamic.JWT{}, "/", []string{"authorization: Basic GOOD"}, 401, "", nil},
		"two lines": {
			dynamic.JWT{},
			"/",
			[]string{"authorization: Bearer GOOD", "Authorization: Bearer GOOD"},
			400, "", nil,
		},
		"two lines, one Basic": {
			dynamic.JWT{},
			"/",
			[]string{"authorization: Basic YTpi", "Authorization: Bearer GOOD"},
			400, "", nil,
		},
		"two in one line":         {dynamic.JWT{}, "/", []string{"authorization: Bearer GOOD, Bearer BAD"}, 401, "", nil},
		"cookie, not configured":  {dynamic.JWT{}, "/", []string{"Cookie: token=GOOD"}, 401, "", nil},
		"query, not configured":   {dynamic.JWT{}, "/?access_token=GOOD", nil, 401, "", nil},
		"nowhere":                 {everywhere, "/?a=b", []string{"Cookie: a=b", "X-Token: GOOD"}, 401, "", nil},
		"own header":              {own, "/", []string{"X-TOKEN: GOOD"}, 204, "/", nil},
		"alias alone":             {own, "/", []string{"x_token: GOOD"}, 401, "", nil},
		"own header has a scheme": {own, "/", []string{"X-TOKEN: Bearer GOOD"}, 401, "", nil},
		"own header is another":   {own, "/", []string{"Authorization: Bearer GOOD"}, 401, "", nil},
		"own header, twice":       {own, "/", []string{"X-Token: GOOD", "X-Token: GOOD"}, 400, "", nil},
		"own header, others stay": {
			own, "/",
			[]string{"X-Token: GOOD", "Authorization: Bearer x"},
			204, "/",
			http.Header{"Authorization": {"Bearer x"}},
		},
		"cookie": {
			everywhere, "/", []string{"Cookie: a=1; token=GOOD; b=2"}, 204, "/", http.Header{"Cookie": {"a=1; b=2"}},
		},
		"cookie first": {
			everywhere, "/",
			[]string{"Cookie: token=GOOD; b=\"2\""},
			204, "/",
			http.Header{"Cookie": {`b="2"`}},
		},
		"cookie alone":     {everywhere, "/", []string{"Cookie: token=GOOD"}, 204, "/", nil},
		"cookie in quotes": {everywhere, "/", []string{`Cookie: token="GOOD"`}, 204, "/", nil},
		"cookie, two lines": {
			everywhere, "/",
			[]string{"Cookie: a=1", "Cookie: token=GOOD"},
			204, "/",
			http.Header{"Cookie": {"a=1"}},
		},
		"cookie, twice":        {everywhere, "/", []string{"Cookie: token=GOOD; token=GOOD"}, 400, "", nil},
		"cookie, empty":        {everywhere, "/", []string{"Cookie: token="}, 401, "", nil},
		"cookie, another case": {everywhere, "/", []string{"Cookie: Token=GOOD"}, 401, "", nil},
		"query": {
			everywhere, "/p%2Fq?a=%20&access_token=GOOD&b&&c=%zz&d=1;2+3", nil, 204, "/p%2Fq?a=%20&b&&c=%zz&d=1;2+3", nil,
		},
		"query alone":          {everywhere, "/?access_token=GOOD", nil, 204, "/", nil},
		"query, encoded name":  {everywhere, "/?%61ccess%5Ftoken=GOOD&x", nil, 204, "/?x", nil},
		"query, encoded value": {everywhere, "/?access_token=QUOTED", nil, 204, "/", nil},
		"query, twice":         {everywhere, "/?access_token=GOOD&access%5ftoken=GOOD", nil, 400, "", nil},
		"query, broken":        {everywhere, "/?access_token=%zzGOOD", nil, 401, "", nil},
		"header before cookie": {
			everywhere, "/",
			[]string{"Authorization: Bearer BAD", "Cookie: token=GOOD"},
			401, "",
			nil,
		},
		"cookie before query": {everywhere, "/?access_token=GOOD", []string{"Cookie: token=BAD"}, 401, "", nil},
		"cookie beside Basic": {
			everywhere, "/",
			[]string{"Authorization: Basic YTpi", "Cookie: token=GOOD"},
			204, "/",
			http.Header{"Authorization": {"Basic YTpi"}},
		},
		"all places": {everywhere, "/?access_token=GOOD&a=b", []string{
			"Authorization: Bearer GOOD",
			"Cookie: token=GOOD",
		}, 204, "/?a=b", nil},
		"no header is configured": {dynamic.JWT{TokenCookie: "token"}, "/", []string{
			"Authorization: Bearer x",
			"Cookie: token=GOOD",
		}, 204, "/", http.Header{"Authorization": {"Bearer x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			tryPlaces(t, test.config, test.target, test.headers, test.status, test.toTarget, test.toHeaders)
		})
	}
}

func tryPlaces(t *testing.T, config dynamic.JWT, target string, head []string, status int, toTarget string,
	toHeaders http.Header,
) {
	good, bad := sign(t, "HS256", []byte(secret), claimsWith(nil), nil), sign(t, "HS256", []byte(secret),
		claimsWith(map[string]any{"exp": 1}), nil)
	tokens := strings.NewReplacer("GOOD", good, "BAD", bad, "QUOTED", strings.ReplaceAll(url.QueryEscape(good), ".",
		"%2E"))
	for i, line := range head {
		head[i] = tokens.Replace(line)
	}
	config.SigningSecret = secret
	for _, remove := range []bool{false, true} {
		config.RemoveToken = remove
		r := middlewaretest.Request(t, "GET "+tokens.Replace(target), head...)
		before, beforeURI, beforeURL := r.Header.Clone(), r.RequestURI, r.URL.String()
		answer, got := serve(build(t, config), r)
		if answer.Code != status || (got != nil) != (status == passes) {
			t.Fatalf("answers %d", answer.Code)
		}
		if got == nil {
			continue
		}
		if !remove {
			if diff := cmp.Diff([]any{before, beforeURI, beforeURL}, []any{
				got.Header, got.RequestURI,
				got.URL.String(),
			}); diff != "" {
				t.Errorf("it is changed: %s", diff)
			}
			continue
		}
		if toHeaders == nil {
			toHeaders = http.Header{}
		}
		if got.RequestURI != toTarget || got.URL.RequestURI() != toTarget {
			t.Errorf("the target is %q and %q, and %q is wanted", got.RequestURI, got.URL.RequestURI(), toTarget)
		}
		if diff := cmp.Diff(toHeaders, got.Header); diff != "" {
			t.Error(diff)
		}
	}
}

// The answers that have a challenge, and what it says.
func TestChallenges(t *testing.T) {
	j := build(t, dynamic.JWT{
		SigningSecret: secret, Realm: `a "b" \c`,
		Claims: []dynamic.JWTClaim{{Name: "scope", Values: []string{"read"}}},
	})
	realm := `Bearer realm="a \"b\" \\c"`
	two := request(t, "x")
	two.Header.Add("Authorization", "Bearer y")
	for name, test := range map[string]struct {
		r      *http.Request
		status int
		want   string
	}{
		"no token":  {request(t, ""), 401, realm},
		"bad token": {request(t, "x"), 401, realm + `, error="invalid_token"`},
		"two":       {two, 400, realm + `, error="invalid_request"`},
		"no scope": {
			request(t, sign(t, "HS256", []byte(secret), claimsWith(nil), nil)), 403,
			realm + `, error="insufficient_scope"`,
		},
	} {
		answer, got := serve(j, test.r)
		said := answer.Header()["Www-Authenticate"]
		if got != nil || answer.Code != test.status || !slices.Equal(said, []string{test.want}) {
			t.Errorf("%s: passes %v, answers %d, %q", name, got != nil, answer.Code, said)
		}
		if body := strings.TrimSpace(answer.Body.String()); body != http.StatusText(test.status) {
			t.Errorf("%s: the body is %q", name, body)
		}
	}
	want := map[string]uint64{
		"challenged": 1, "refused": 2, "forbidden": 1, "unavailable": 0, "verified": 0,
		"remembered": 0,
	}
	if diff := cmp.Diff(want, j.Counts()); diff != "" {
		t.Error(diff)
	}
}
