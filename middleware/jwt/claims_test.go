package jwt

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// claimsOf returns JSON as a token's claims are read.
func claimsOf(t testing.TB, text string) map[string]any {
	t.Helper()
	claims, refused := decode([]byte(text))
	if refused != nil {
		t.Fatal(refused.reason)
	}
	return claims
}

func TestRequiredClaims(t *testing.T) {
	const claims = `{"scope":"read write","title":"not admin","roles":["admin","the user"],"level":5,
		"big":12345678901234567890,"float":5.0,
		"vip":true,
		"nothing":null,"empty":"","none":[],"object":{"a":{"b":"c"},"x.y":"z"},"https://example.com/roles":["r"],"a.b":"flat",
		"a":{"c":1},
		"mixed":[1,true,null,"a b",{"d":"e"}]}`
	for name, test := range map[string]struct {
		claim  string
		values []string
		want   bool
	}{
		"the text":                {"scope", []string{"read write"}, true},
		"a word":                  {"scope", []string{"write"}, true},
		"one of several":          {"scope", []string{"delete", "read"}, true},
		"part of a word":          {"scope", []string{"rea"}, false},
		"two words, other order":  {"scope", []string{"write read"}, false},
		"another case":            {"scope", []string{"READ"}, false},
		"a word of another claim": {"title", []string{"admin"}, false},
		"an element":              {"roles", []string{"admin"}, true},
		"an element with a space": {"roles", []string{"the user"}, true},
		"a word of an element":    {"roles", []string{"user"}, false},
		"a number":                {"level", []string{"5"}, true},
		"another number":          {"float", []string{"5"}, false},
		"as it is written":        {"float", []string{"5.0"}, true},
		"a big number":            {"big", []string{"12345678901234567890"}, true},
		"true":                    {"vip", []string{"true"}, true},
		"false":                   {"vip", []string{"false"}, false},
		"there":                   {"level", nil, true},
		"there, empty":            {"empty", nil, true},
		"there, an empty list":    {"none", nil, true},
		"there, an object":        {"object", nil, true},
		"null":                    {"nothing", nil, false},
		"null as a word":          {"nothing", []string{"null"}, false},
		"missing":                 {"absent", nil, false},
		"missing, a value":        {"absent", []string{"a"}, false},
		"nothing in the list":     {"none", []string{"a"}, false},
		"in an object":            {"object.a.b", []string{"c"}, true},
		"an object":               {"object.a", []string{"c"}, false},
		"dots in a nested name":   {"object.x.y", []string{"z"}, true},
		"dots in a name":          {"https://example.com/roles", []string{"r"}, true},
		"dots, no object there":   {"a.b", []string{"flat"}, true},
		"through the object":      {"a.c", []string{"1"}, true},
		"past a text":             {"scope.read", nil, false},
		"past a list":             {"roles.0", nil, false},
		"number in a list":        {"mixed", []string{"1"}, true},
		"truth in a list":         {"mixed", []string{"true"}, true},
		"object in a list":        {"mixed", []string{"e"}, false},
	} {
		j := build(t, dynamic.JWT{SigningSecret: secret, Claims: []dynamic.JWTClaim{
			{Name: "exp"},
			{Name: test.claim, Values: test.values},
		}})
		payload := []byte(claims[:len(claims)-1] + `,"exp":9999999999,"sub":"ann"}`)
		r := request(t, signRaw(t, "HS256", []byte(secret), []byte(`{"alg":"HS256"}`), payload))
		answer, got := serve(j, r)
		if (got != nil) != test.want || got == nil && answer.Code != http.StatusForbidden {
			t.Errorf("%s: passes %v, answers %d", name, got != nil, answer.Code)
		}
		if why := reason(r); got == nil && why != "the token lacks the claim "+test.claim+", or a value of it" {
			t.Errorf("%s: because %q", name, why)
		}
		if user := telemetry.RecordFrom(r.Context()).Username; user != "ann" {
			t.Errorf("%s: the user is %q", name, user)
		}
		if got == nil && j.cache.size() > 0 {
			t.Errorf("%s: it is cached", name)
		}
	}
}

// The user in the record of a request.
func TestUser(t *testing.T) {
	for sub, want := range map[string]string{
		`"ann"`: "ann", `"Zoë"`: "Zoë", `""`: "", `5`: "", `null`: "", `["ann"]`: "", `"a\nb"`: "", `"a\u0000"`: "",
		`"` + strings.Repeat("a", 300) + `"`: strings.Repeat("a", 255), `"` + strings.Repeat("a", 254) +
			`ë"`: strings.Repeat("a", 254),
	} {
		if got := user(claimsOf(t, `{"sub":`+sub+`}`)); got != want {
			t.Errorf("%s: %q", sub, got)
		}
	}
	j := build(t, dynamic.JWT{SigningSecret: secret})
	token := sign(t, "HS256", []byte(secret), claimsWith(nil), nil)
	for _, token := range []string{token, token, token[:len(token)-2] + "AA"} {
		r := request(t, token)
		_, got := serve(j, r)
		if user := telemetry.RecordFrom(r.Context()).Username; (user == "ann") != (got != nil) {
			t.Errorf("passes %v, and the user is %q", got != nil, user)
		}
	}
}

// How claims look in headers.
func TestValues(t *testing.T) {
	for claim, want := range map[string]string{
		`"ann"`: "ann", `"Zoë"`: "Zoë", `""`: "", `null`: "", `5`: "5", `1e3`: "1e3",
		`12345678901234567890`: "12345678901234567890",
		`true`:                 "true", `false`: "false", `["a","b"]`: "a,b", `["a b",1,true]`: "a b,1,true", `[]`: "",
		`{"b":1,"a":"<&>"}`: `{"a":"<&>","b":1}`,
		`[{"a":1},"b"]`:     `[{"a":1},"b"]`, `["a",null]`: `["a",null]`, `[["a","b"]]`: `[["a","b"]]`, `"a,b"`: "a,b",
		`{"a":"x\ny"}`: `{"a":"x\ny"}`,
		`"` + strings.Repeat("a", maxValue) + `"`: strings.Repeat("a", maxValue),
	} {
		if got, err := write(claimsOf(t, `{"c":`+claim+`}`)["c"]); err != nil || got != want {
			t.Errorf("%s: %q, %v", claim, got, err)
		}
	}
	for claim, want := range map[string]string{
		`"a\r\nX-Admin: 1"`: "has a control character", `"a\u0000"`: "has a control character",
		`"a\u007f"`:  "has a control character",
		`"a\u0085b"`: "has a control character", `" a"`: "begins or ends with a space",
		`"a\u00a0"`:   "begins or ends with a space",
		`["a,admin"]`: "has an element that is empty or has a comma",
		`["a",""]`:    "has an element that is empty or has a comma",
		`["a "]`:      "begins or ends with a space", `["a\n"]`: "has a control character",
		`{"a":"\u0085"}`: "has a control character",
		`"` + strings.Repeat("a", maxValue+1) + `"`: "is longer than 4096 bytes",
	} {
		got, err := write(claimsOf(t, `{"c":`+claim+`}`)["c"])
		if err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v", claim, got, err)
		}
		r := request(t, signRaw(t, "HS256", []byte(secret), []byte(`{"alg":"HS256"}`), []byte(`{"exp":9999999999,"c":`+claim+
			`}`)))
		j := build(t, dynamic.JWT{SigningSecret: secret, ForwardHeaders: map[string]string{"x-c": "c"}})
		if answer, got := serve(j, r); got != nil || answer.Code != http.StatusUnauthorized ||
			reason(r) != "the claim for the header X-C "+want {
			t.Errorf("%s: passes %v, answers %d, because %q", claim, got != nil, answer.Code, reason(r))
		}
	}
}

// Times that any JSON can have, and none may be taken for another.
func TestInstants(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1e9, "-1": -1e9, "1.5": 1.5e9, "1e3": 1e12, "1e300": maxTime * 1e9, "-1e300": -maxTime * 1e9,
		"9223372036854775808": maxTime * 1e9,
	} {
		at, there, ok := instant(claimsOf(t, `{"exp":`+text+`}`), "exp")
		if at != want || !there || !ok {
			t.Errorf("%s: %d, %v, %v", text, at, there, ok)
		}
	}
	for _, text := range []string{`"1"`, "null", "true", "[1]", "{}", "1e999"} {
		if _, there, ok := instant(claimsOf(t, `{"exp":`+text+`}`), "exp"); !there || ok {
			t.Errorf("%s: %v, %v", text, there, ok)
		}
	}
	at, there, ok := instant(nil, "exp")
	if diff := cmp.Diff([]any{int64(0), false, true}, []any{at, there, ok}); diff != "" {
		t.Error(diff)
	}
}
