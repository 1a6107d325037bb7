package jwt

import (
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// The examples of the README do what it says.
func TestExamples(t *testing.T) {
	ring := keys()
	examples := middlewaretest.Examples(t, "README.md")
	read := readMap(map[string]string{"/etc/sluice/partner.pem": publicPEM(t, ring.p256), "/run/secrets/signing": secret +
		"\n"})
	made := func(name string) *JWT {
		j, err := New(name+"@file", *examples[name].JWT, Options{ReadFile: read})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(j.Close)
		return j
	}
	users := made("users")
	users.keys = static{newKeySet([]key{newKey("r", &ring.rsa.PublicKey, []jose.SignatureAlgorithm{jose.RS256})},
		asymmetric())}
	claims := map[string]any{"scope": "openid read", "realm_access": map[string]any{"roles": []string{"admin", "user"}}}
	_, got := serve(users, request(t, sign(t, jose.RS256, ring.rsa, claimsWith(claims), nil)))
	if got == nil || got.Header.Get("X-User") != "ann" || got.Header.Get("X-Roles") != "admin,user" ||
		got.Header.Get("Authorization") != "" {
		t.Errorf("users: %v", got)
	}
	delete(claims, "realm_access")
	expect(t, users, sign(t, jose.RS256, ring.rsa, claimsWith(claims), nil), http.StatusForbidden,
		"the token lacks the claim realm_access.roles, or a value of it")
	expect(t, made("partners"), sign(t, jose.ES256, ring.p256, claimsWith(nil), nil), passes, "")
	internal := made("internal")
	token := sign(t, jose.HS256, []byte(secret), claimsWith(nil), nil)
	for _, r := range []*http.Request{
		middlewaretest.Request(t, "GET /", "X-Token: "+token), middlewaretest.Request(t, "GET /", "Cookie: session="+token),
		middlewaretest.Request(t, "GET /?access_token="+token),
	} {
		if _, got := serve(internal, r); got == nil {
			t.Errorf("internal: %s %v does not pass", r.RequestURI, r.Header)
		}
	}
	if answer, _ := serve(internal, middlewaretest.Request(t,
		"GET /")); answer.Header().Get("Www-Authenticate") != `Bearer realm="internal"` {
		t.Errorf("internal: %v", answer.Header())
	}
}

// Every option stands in the table of the README.
func TestOptionsAreDescribed(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[dynamic.JWT]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[dynamic.JWT]().Field(i).Tag.Get("json"), ",")
		described := false
		for line := range strings.Lines(string(text)) {
			first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
			described = described || strings.HasPrefix(line, "|") && strings.Contains(first, "`"+name+"`")
		}
		if !described {
			t.Errorf("%s is not described", name)
		}
	}
}
